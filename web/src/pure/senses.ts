// A word in many sentences as dots on a map: where each lies, what its colour says, and which is next.

import { beside, box, ink, prose, stacked, words, type Drawing, type Mark } from "./drawing";
import type { Tint } from "./selection";
import type { SensesStudied, WordOccurrence } from "../schema";

export interface Group {
  readonly name: string;
  readonly tone: string;
  readonly shape: number;
  readonly count: number;
}

// Each class has a colour and a shape, so that colours are never needed to tell two apart.
const TONES = ["accent", "gold", "bad", "good", "ink"] as const;
const REST = "others";

/** What the colours can say of these occurrences: their sense, translation or group. */
export function tintsOf({ occurrences }: SensesStudied): Exclude<Tint, "">[] {
  const several = (name: "sense" | "label"): boolean => occurrences.some((one) => one[name]);
  return [
    ...(several("sense") ? (["sense"] as const) : []),
    ...(several("label") ? (["translation"] as const) : []),
    "group",
  ];
}

/** The class of each occurrence by name. */
export function classesOf(found: SensesStudied, layer: number, tint: Tint): string[] {
  return found.occurrences.map((one: WordOccurrence, at) => {
    if (tint === "sense") return one.sense || "unknown";
    if (tint === "translation") return one.label.toLowerCase() || "(not translated)";
    return `group ${(found.layers[layer]?.groups[at] ?? 0) + 1}`;
  });
}

/** The classes, the most frequent first, each with its colour and shape; the rarest share the last. */
export function groupsOf(classes: readonly string[]): Group[] {
  const counts = new Map<string, number>();
  for (const name of classes) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts.keys()].sort(
    (a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1),
  );
  const kept = names.length > TONES.length ? names.slice(0, TONES.length - 1) : names;
  const groups = kept.map((name, at) => ({
    name,
    tone: TONES[at]!,
    shape: at,
    count: counts.get(name)!,
  }));
  const rest = classes.length - groups.reduce((sum, { count }) => sum + count, 0);
  return rest ? [...groups, { name: REST, tone: "soft", shape: 5, count: rest }] : groups;
}

export function groupOf(name: string, groups: readonly Group[]): Group {
  return groups.find((group) => group.name === name) ?? groups.at(-1)!;
}

export interface Dot {
  readonly x: number;
  readonly y: number;
}

/** Places on a sheet, one unit of length the same across and along, with room around them. */
export function placed(
  map: readonly (readonly number[])[],
  width: number,
  height: number,
  margin = 26,
): Dot[] {
  const [xs, ys] = [map.map(([x]) => x ?? 0), map.map(([, y]) => y ?? 0)];
  const middle = (all: readonly number[]): number => (Math.min(...all) + Math.max(...all)) / 2;
  const span = (all: readonly number[]): number => Math.max(...all) - Math.min(...all);
  const unit = Math.min(
    (width - 2 * margin) / Math.max(span(xs), 1e-4),
    (height - 2 * margin) / Math.max(span(ys), 1e-4),
  );
  const isPoint = Math.max(span(xs), span(ys)) < 1e-4;
  return map.map(([x = 0, y = 0]) => ({
    x: width / 2 + (isPoint ? 0 : (x - middle(xs)) * unit),
    y: height / 2 - (isPoint ? 0 : (y - middle(ys)) * unit),
  }));
}

/** Whether all lie on one point, as a vector that knows no context does. */
export function isOnePoint(map: readonly (readonly number[])[]): boolean {
  return map.every((at) => at.every((value, axis) => Math.abs(value - map[0]![axis]!) < 1e-4));
}

const WAYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The dot that an arrow key leads to: the nearest that lies that way. */
export function nextDot(key: string, dots: readonly Dot[], from: number): number | null {
  const way = WAYS[key];
  const here = dots[from];
  if (!way || !here) return null;
  let [best, least] = [from, Infinity];
  dots.forEach((dot, at) => {
    const [dx, dy] = [dot.x - here.x, dot.y - here.y];
    const along = dx * way[0] + dy * way[1];
    const aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
    if (at === from || along <= 0 || aside > 2 * along) return;
    if (along + 2 * aside < least) [best, least] = [at, along + 2 * aside];
  });
  return best;
}

/** The outline of a shape around a place. */
export function outline(shape: number, { x, y }: Dot, size: number): string {
  const [s, t] = [size, size * 1.25];
  switch (shape % 6) {
    case 1:
      return `M${x - s} ${y - s}H${x + s}V${y + s}H${x - s}Z`;
    case 2:
      return `M${x} ${y - t}L${x + t} ${y + s}H${x - t}Z`;
    case 3:
      return `M${x} ${y - t}L${x + t} ${y}L${x} ${y + t}L${x - t} ${y}Z`;
    case 4:
      return `M${x} ${y + t}L${x + t} ${y - s}H${x - t}Z`;
    case 5:
      return `M${x - s} ${y - s / 3}H${x - s / 3}V${y - s}H${x + s / 3}V${y - s / 3}H${x + s}V${y + s / 3}H${x + s / 3}V${y + s}H${x - s / 3}V${y + s / 3}H${x - s}Z`;
    default:
      return `M${x - s} ${y}A${s} ${s} 0 1 0 ${x + s} ${y}A${s} ${s} 0 1 0 ${x - s} ${y}Z`;
  }
}

/** A sentence in three parts: before the word, the word, behind it. Places count characters, not UTF-16. */
export function parted({ text, span }: WordOccurrence): readonly [string, string, string] {
  if (!span) return [text, "", ""];
  const letters = [...text];
  const part = (from: number, to?: number): string => letters.slice(from, to).join("");
  return [part(0, span[0]), part(span[0], span[1]), part(span[1])];
}

/** The map, its classes, and the static vector beside it, for a file. */
export function sensesDrawing(found: SensesStudied, layer: number, tint: Tint): Drawing {
  const [width, height] = [640, 440];
  const classes = classesOf(found, layer, tint);
  const groups = groupsOf(classes);
  const legend = groups.map(({ name, tone, shape, count }): Drawing => {
    const mark = dotMark(shape, { x: 8, y: 10 }, tone);
    return {
      width: 200,
      height: 20,
      marks: [mark, words(24, 10, `${name} (${count})`, { size: 14 })],
    };
  });
  const map = (places: readonly (readonly number[])[], wide: number, tall: number): Drawing => ({
    width: wide,
    height: tall,
    marks: [
      box(0, 0, wide, tall, ink("sheet"), { rx: 6, stroke: ink("line") }),
      ...placed(places, wide, tall).flatMap((dot, at) => {
        const { shape, tone } = groupOf(classes[at]!, groups);
        return [
          dotMark(shape, dot, tone),
          words(dot.x + 9, dot.y - 9, String(at + 1), { size: 11, ink: ink("soft") }),
        ];
      }),
    ],
  });
  const statics = found.occurrences.map((one) => one.static);
  const named = (text: string, drawing: Drawing): Drawing =>
    stacked([prose(text, drawing.width, { size: 14, bold: true }), drawing], 8);
  return beside([
    named(
      `Layer ${layer} of ${found.layers.length - 1}`,
      map(found.layers[layer]!.map, width, height),
    ),
    stacked([named("The static vector", map(statics, 220, 160)), ...legend], 10),
  ]);
}

function dotMark(shape: number, dot: Dot, tone: string): Mark {
  return {
    tag: "path",
    at: { d: outline(shape, dot, 6), fill: ink(tone), stroke: ink("sheet"), "stroke-width": 1 },
  };
}
