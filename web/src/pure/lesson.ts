// A lesson's values as cells, and a reader's text as a lesson's input.

import { digits } from "./text";

export type Scalar = boolean | number | string;
export type Value = Scalar | readonly Scalar[] | readonly (readonly Scalar[])[];

/** Any value as rows of cells. */
export function grid(value: Value): readonly (readonly Scalar[])[] {
  if (!Array.isArray(value)) return [[value as Scalar]];
  if (value.some(Array.isArray)) return value as readonly (readonly Scalar[])[];
  return [value as readonly Scalar[]];
}

/** Whether a row is made of shares of one whole, as weights and probabilities are. */
export function isDistribution(row: readonly Scalar[]): boolean {
  const numbers = row.filter((cell) => typeof cell === "number");
  const total = numbers.reduce((sum, number) => sum + number, 0);
  const shares = numbers.every((number) => number >= 0 && number <= 1);
  return (
    numbers.length > 1 && numbers.length === row.length && shares && Math.abs(total - 1) < 0.03
  );
}

/** Whether a step's rows are weights or probabilities by their meaning, not by the chance of adding up to 1. */
export function isShares(value: Value, name: string, formula: string): boolean {
  const isMeant =
    /(^|, | )weights$|^probabilities$/.test(name) ||
    (/^(softmax|exp\(|alpha_i|p\b|y, one-hot)/.test(formula) && !/ V$/.test(formula));
  return isMeant && grid(value).every(isDistribution);
}

export function cellText(cell: Scalar): string {
  if (typeof cell === "boolean") return cell ? "■" : "·";
  if (cell === 0) return "0";
  if (typeof cell === "number") return Number.isInteger(cell) ? digits(cell) : precise(cell);
  return cell.replace(/^-inf$/, "−∞").replace(/^inf$/, "∞");
}

/** Five decimals, and more where rounding would hide that a number is not quite whole. */
function precise(number: number): string {
  const nearly = Math.round(number) !== 0 && Math.abs(number - Math.round(number));
  if (typeof nearly === "number" && nearly > 1e-8 && nearly < 5e-6) return number.toFixed(7);
  const size = Math.abs(number);
  if (size < 1e-4) return size < 1e-14 ? "0" : digits(number, 4);
  if (size >= 1000) return digits(number, 1);
  return number
    .toFixed(5)
    .replace(/\.?0+$/, "")
    .replace(/^-/, "−");
}

export type Shape = "number" | "row" | "table" | "words" | "text";

/** How an input is edited: cell by cell where it is small and made of numbers, else as JSON. */
export function shapeOf(value: unknown): Shape {
  if (typeof value === "number") return "number";
  if (!Array.isArray(value) || value.length === 0) return "text";
  if (value.every((one) => typeof one === "string" && /^\S+$/.test(one))) return "words";
  if (value.every((one) => typeof one === "number")) return value.length <= 12 ? "row" : "text";
  const isTable =
    value.every(
      (row) => Array.isArray(row) && row.length > 0 && row.every((one) => typeof one === "number"),
    ) && new Set(value.map((row: unknown[]) => row.length)).size === 1;
  if (!isTable) return "text";
  return value.length <= 8 && (value[0] as unknown[]).length <= 8 ? "table" : "text";
}

export type Read = { readonly value: unknown } | { readonly error: string };

/** JSON as a reader types it. */
export function read(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { error: "Not valid JSON yet: write [1, 0.5] for a row, [[1, 0], [0, 1]] for a table." };
  }
}

/** A value as JSON that can be read: what has names gets a line each. */
export function spread(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return JSON.stringify(value);
  const lines = Object.entries(value).map(
    ([name, one]) => `  ${JSON.stringify(name)}: ${JSON.stringify(one)}`,
  );
  return `{\n${lines.join(",\n")}\n}`;
}

/** The same value with one number of it changed. */
export function withCell(value: unknown, row: number, column: number, number: number): unknown {
  if (!Array.isArray(value)) return number;
  if (!Array.isArray(value[0])) return value.map((one, at) => (at === column ? number : one));
  return value.map((line: unknown[], at) =>
    at === row ? line.map((one, place) => (place === column ? number : one)) : line,
  );
}

export interface Run {
  readonly text: string;
  readonly isCode: boolean;
}

/** A docstring as paragraphs; what stands in backquotes is code. */
export function paragraphs(text: string): Run[][] {
  return text.split(/\n\s*\n/).map((paragraph) =>
    paragraph
      .replace(/\s*\n\s*/g, " ")
      .split("`")
      .map((part, at) => ({ text: part, isCode: at % 2 === 1 }))
      .filter(({ text }) => text),
  );
}

/** Inputs out of an address: an object, or nothing. */
export function readInputs(text: string): Record<string, unknown> {
  if (!text) return {};
  const found = read(text);
  if ("error" in found || typeof found.value !== "object" || found.value === null) return {};
  return Array.isArray(found.value) ? {} : (found.value as Record<string, unknown>);
}

/** L1 to L4, L7: neighbours as one, since a lesson may show many. */
export function numbered(points: readonly string[]): string {
  const runs: string[][] = [];
  for (const point of points) {
    const last = runs.at(-1);
    const isNext = last && Number(point.slice(1)) === Number(last.at(-1)!.slice(1)) + 1;
    if (isNext) last.push(point);
    else runs.push([point]);
  }
  return runs.flatMap((run) => (run.length > 2 ? [`${run[0]} to ${run.at(-1)}`] : run)).join(", ");
}
