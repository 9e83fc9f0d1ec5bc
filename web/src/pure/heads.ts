// What every head does, as a table and as a wall: chosen, sorted, shaded and drawn.

import { css, cividis, inkOn } from "./colour";
import type { Cell } from "./csv";
import { ink, words, box, type Drawing, type Mark } from "./drawing";
import type { HeadStudied } from "../schema";

/** What each measure says, as docs/heads.md has it. */
export const MEANING: Readonly<Record<string, string>> = {
  entropy: "of a row of weights, in nats: 0 looks at one key alone, more spreads its weight",
  confidence: "the largest weight of a row, special tokens left out, averaged over rows",
  distance: "how far away it looks, in tokens, by weight",
  self: "weight on the token itself",
  previous: "weight on the token before",
  next: "weight on the token after",
  first: "weight on the first token",
  separator: "weight on all other special tokens, such as </s>",
  duplicate: "weight on other copies of the same token, in random words said twice",
  induction: "weight on what followed an earlier copy of the token, in random words said twice",
  rare: "how often the largest weight is on the rarest token of the text",
  alignment: "how often the largest weight is on the same name or number in the text",
  position: "share of the variance of its scores that the two positions explain",
  content: "share of the variance of its scores that the two words explain",
};

export interface Choice {
  readonly measure: string;
  readonly order: "" | "most" | "least";
  readonly role: string;
  readonly kind: string;
}

/** What a model is asked about: a picture, a sound or, like nearly all others, a text. */
export function itemOf(accepts = ""): "picture" | "sound" | "sentence" {
  if (accepts.startsWith("image")) return "picture";
  return accepts.startsWith("audio") ? "sound" : "sentence";
}

/** The controls that anything was counted for: without words there is nothing to shuffle. */
export function controlsOf(heads: readonly HeadStudied[]): readonly ("random" | "shuffled")[] {
  const has = heads.some(({ shuffled }) => Object.values(shuffled).some((one) => one !== null));
  return has ? ["random", "shuffled"] : ["random"];
}

export const NONE = "none"; // the role of heads that have none

/** A role without its number: `offset -2` and `nsubj →` stay whole. */
export function rolesIn(heads: readonly HeadStudied[]): string[] {
  return [...new Set(heads.flatMap(({ roles }) => roles.map(({ name }) => name)))].sort();
}

export function isChosen(head: HeadStudied, { role, kind }: Choice): boolean {
  const named =
    !role ||
    (role === NONE ? head.roles.length === 0 : head.roles.some(({ name }) => name === role));
  return named && (!kind || head.kind === kind);
}

/** The heads that are left, in the order asked for; what was not counted comes last. */
export function chosen(heads: readonly HeadStudied[], choice: Choice): HeadStudied[] {
  const kept = heads.filter((head) => isChosen(head, choice));
  if (!choice.order) return kept;
  const sign = choice.order === "most" ? -1 : 1;
  const value = (head: HeadStudied): number => head.measures[choice.measure] ?? sign * Infinity;
  return kept.sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    return one === other ? 0 : sign * (one < other ? -1 : 1);
  });
}

/** The smallest and the largest value of a measure; shades go from the one to the other. */
export function reachOf(heads: readonly HeadStudied[], measure: string): readonly [number, number] {
  const all = heads.flatMap(({ measures }) => measures[measure] ?? []);
  return all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
}

export function shade(
  value: number | null | undefined,
  [low, high]: readonly [number, number],
): { readonly paper: string; readonly ink: string } | null {
  if (typeof value !== "number") return null;
  const colour = cividis(high > low ? (value - low) / (high - low) : 0.5);
  return { paper: css(colour), ink: css(inkOn(colour)) };
}

/** Two decimals, as many as fit on a tile. */
export function brief(value: number | null | undefined): string {
  return typeof value === "number" ? value.toFixed(2) : "–";
}

export interface Stack {
  readonly title: string;
  readonly layers: readonly { readonly name: string; readonly heads: readonly HeadStudied[] }[];
}

const [WIDE, TALL, LEFT] = [74, 44, 78];

/** The wall as a drawing: a tile a head, its number and its role. */
export function headsDrawing(
  stacks: readonly Stack[],
  choice: Choice,
  reach: readonly [number, number],
): Drawing {
  const marks: Mark[] = [];
  let y = 0;
  let width = 0;
  for (const { title, layers } of stacks) {
    marks.push(words(0, y + 10, title, { size: 16, bold: true }));
    y += 30;
    for (const { name, heads } of layers) {
      marks.push(words(0, y + TALL / 2, name, { size: 13, ink: ink("soft") }));
      heads.forEach((head, at) => marks.push(...tile(head, LEFT + at * WIDE, y, choice, reach)));
      width = Math.max(width, LEFT + heads.length * WIDE);
      y += TALL + 4;
    }
    y += 16;
  }
  return { width: Math.max(1, width), height: Math.max(1, y - 16), marks };
}

function tile(
  head: HeadStudied,
  x: number,
  y: number,
  choice: Choice,
  reach: readonly [number, number],
): Mark[] {
  const value = head.measures[choice.measure];
  const colours = shade(value, reach) ?? { paper: ink("sunk"), ink: ink("soft") };
  const middle = x + (WIDE - 4) / 2;
  const how = { size: 12, anchor: "middle", ink: colours.ink } as const;
  const role = head.roles[0]?.name ?? "";
  const marks = [
    box(x, y, WIDE - 4, TALL, colours.paper, { rx: 4 }),
    words(middle, y + (role ? 14 : TALL / 2), brief(value), how),
    ...(role ? [words(middle, y + 31, role, { ...how, bold: true })] : []),
  ];
  return isChosen(head, choice) ? marks : [{ tag: "g", at: { opacity: 0.25 }, inside: marks }];
}

/** Every number with its controls. */
export function headRows(
  heads: readonly HeadStudied[],
  measures: readonly string[],
  title: (head: HeadStudied) => string,
): Cell[][] {
  const controls = controlsOf(heads);
  const names = measures.flatMap((name) => [name, ...controls.map((one) => `${name} (${one})`)]);
  return [
    ["attention", "path", "layer", "head", "roles", ...names],
    ...heads.map((head) => [
      title(head),
      head.path,
      head.layer + 1,
      head.head + 1,
      head.roles.map(({ name }) => name).join(", "),
      ...measures.flatMap((name) =>
        [head.measures, ...controls.map((one) => head[one])].map((some) => some[name] ?? ""),
      ),
    ]),
  ];
}
