// One row of weights over what it reads where that is no text: a picture, a sound, or points in the plane.

import type { GridAxis, ItemsAxis, TimesAxis, TokensAxis } from "../schema";
import { box, ink, line, stacked, words, type Drawing, type Mark } from "./drawing";
import { css, cividis } from "./colour";
import { share } from "./text";

export type AnyAxis = TokensAxis | GridAxis | TimesAxis | ItemsAxis;

const WIDE = 520;
const SOFT = { size: 13, ink: ink("soft") };

/** The weights drawn where they belong; nothing for tokens, and for items that have no place in the plane. */
export function placesDrawing(
  axis: AnyAxis | undefined,
  weights: ArrayLike<number>,
): Drawing | null {
  if (!axis || weights.length !== axis.pieces.length || !weights.length) return null;
  if (axis.kind === "grid") return noted(gridDrawing(axis, weights), weights);
  if (axis.kind === "times") return noted(soundDrawing(axis, weights), weights);
  if (axis.kind === "items" && axis.points.some((point) => point.length === 2)) {
    return noted(pointsDrawing(axis, weights), weights);
  }
  return null;
}

/** In words what is drawn, for those who do not see it. */
export function placesLabel(axis: AnyAxis, weights: ArrayLike<number>): string {
  const what = { tokens: "The text", grid: "The picture", times: "The sound", items: "The items" };
  const best = strongest(weights);
  return `${what[axis.kind]} with its weights; the largest is ${share(weights[best] ?? 0)}, at ${axis.pieces[best] ?? ""}`;
}

function strongest(weights: ArrayLike<number>): number {
  return Array.from(weights).reduce((best, one, at, all) => (one > all[best]! ? at : best), 0);
}

/** Shades are relative to the largest weight, which is therefore said. */
function noted(drawing: Drawing, weights: ArrayLike<number>): Drawing {
  const most = weights[strongest(weights)] ?? 0;
  const note = `The strongest mark is a weight of ${share(most)}; the others in proportion.`;
  return stacked([drawing, { width: WIDE, height: 18, marks: [words(0, 9, note, SOFT)] }], 6);
}

/** Cells are counted column after column, each from top to bottom. */
function gridDrawing(axis: GridAxis, weights: ArrayLike<number>): Drawing {
  const { rows, columns, picture } = axis;
  const side = Math.max(2, Math.min(WIDE / columns, 320 / rows));
  const [width, height] = [side * columns, side * rows];
  const most = Math.max(weights[strongest(weights)] ?? 0, 1e-9);
  const marks: Mark[] = [];
  if (picture.startsWith("data:image/")) {
    marks.push({
      tag: "image",
      at: { x: 0, y: 0, width, height, preserveAspectRatio: "none", href: picture },
    });
  }
  for (let place = 0; place < weights.length; place++) {
    const [x, y] = [Math.floor(place / rows) * side, (place % rows) * side];
    const part = (weights[place] ?? 0) / most;
    marks.push(
      picture
        ? box(x, y, side, side, "#f5b400", { "fill-opacity": Math.round(75 * part) / 100 })
        : box(x, y, side - (side > 7 ? 1 : 0), side - (side > 7 ? 1 : 0), css(cividis(part))),
    );
  }
  marks.push(box(0, 0, width, height, "none", { stroke: ink("line") }));
  return { width, height, marks };
}

/** The loudness above, the weights below, one scale of seconds for both. */
function soundDrawing(axis: TimesAxis, weights: ArrayLike<number>): Drawing {
  const { seconds, waveform } = axis;
  const [loud, tall] = [waveform.length ? 70 : 0, 90];
  const step = seconds.length > 1 ? seconds[1]! - seconds[0]! : 1;
  const [from, to] = [seconds[0]!, seconds.at(-1)! + Math.max(step, 1e-3)];
  const x = (moment: number): number => ((moment - from) / (to - from)) * WIDE;
  const marks: Mark[] = [];
  const peak = Math.max(1e-9, ...waveform.map(Math.abs));
  const thin = WIDE / Math.max(1, waveform.length);
  waveform.forEach((one, at) => {
    const high = Math.max(1, (Math.abs(one) / peak) * loud);
    const width = Math.max(0.5, thin - 0.5);
    marks.push(box(at * thin, (loud - high) / 2, width, high, ink("soft")));
  });
  const most = Math.max(weights[strongest(weights)] ?? 0, 1e-9);
  const floor = loud + 10 + tall;
  const width = Math.max(1, WIDE / seconds.length - 1);
  seconds.forEach((moment, at) => {
    const high = ((weights[at] ?? 0) / most) * tall;
    if (high > 0.2) marks.push(box(x(moment), floor - high, width, high, ink("accent")));
  });
  marks.push(line(0, floor, WIDE, floor, ink("line")));
  const ticks = 5;
  for (let tick = 0; tick <= ticks; tick++) {
    const moment = from + ((to - from) * tick) / ticks;
    const anchor = tick === 0 ? "start" : tick === ticks ? "end" : "middle";
    const name = `${moment.toFixed(to - from < 10 ? 2 : 1)} s`;
    marks.push(words(x(moment), floor + 12, name, { ...SOFT, anchor }));
  }
  return { width: WIDE, height: floor + 22, marks };
}

/** Every item where its two numbers put it; the area of its disc is its weight. */
function pointsDrawing(axis: ItemsAxis, weights: ArrayLike<number>): Drawing {
  const [width, height, edge] = [WIDE, 340, 40];
  const placed = axis.points.flatMap((point, at) =>
    point.length === 2 ? [{ at, x: point[0]!, y: point[1]! }] : [],
  );
  const unplaced = axis.points.filter(({ length }) => !length).length; // a stop sign before all items
  const scale = (all: readonly number[], room: number) => {
    const [low, high] = [Math.min(...all), Math.max(...all)];
    return (one: number): number => edge + ((one - low) / (high - low || 1)) * (room - 2 * edge);
  };
  const across = scale(
    placed.map(({ x }) => x),
    width,
  );
  const up = scale(
    placed.map(({ y }) => y),
    height,
  );
  const most = Math.max(weights[strongest(weights)] ?? 0, 1e-9);
  const marks: Mark[] = [box(0.5, 0.5, width - 1, height - 1, "none", { stroke: ink("line") })];
  for (const { at, x, y } of placed) {
    const [cx, cy] = [across(x), height - up(y)];
    const r = 26 * Math.sqrt(Math.max(0, weights[at] ?? 0) / most);
    const disc = { cx, cy, r, fill: ink("accent"), "fill-opacity": 0.45 };
    if (r > 0.5) marks.push({ tag: "circle", at: disc });
    marks.push({ tag: "circle", at: { cx, cy, r: 3, fill: ink("ink") } });
  }
  for (const { at, x, y } of placed) {
    const name = String(at - unplaced); // as an answer names it
    marks.push(
      words(across(x), height - up(y) - 12, name, { size: 12, anchor: "middle", ink: ink("ink") }),
    );
  }
  return { width, height, marks };
}
