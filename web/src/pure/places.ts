// One row of weights over what it reads where that is no text: a picture, a sound, or points in the plane.

import type { GridAxis, ItemsAxis, TimesAxis, TokensAxis } from "../schema";
import { beside, box, ink, line, stacked, words, type Drawing, type Mark } from "./drawing";
import { css, cividis } from "./colour";
import { rowOf, type Matrix } from "./matrix";
import { share } from "./text";

export type AnyAxis = TokensAxis | GridAxis | TimesAxis | ItemsAxis;

const WIDE = 520;
const SOFT = { size: 13, ink: ink("soft") };

/** How weights lie over a picture: one square each, or interpolated between the centres of the squares. */
export type Manner = "cells" | "smooth";

/** Gold of so many dots, each as strong as its share, as a data address; a page makes it on a canvas. */
export type Wash = (shares: Float32Array, width: number, height: number) => string;

export interface How {
  readonly manner?: Manner;
  /** Without it, a smooth map is drawn as cells. */
  readonly wash?: Wash | undefined;
  /** The most that a picture may be wide and high. */
  readonly room?: { readonly width: number; readonly height: number };
  /** The items that an answer points at, in order; a line joins those of the plane. */
  readonly route?: readonly number[];
  /** Whether the largest weight is said below. */
  readonly noted?: boolean;
}

/** One small picture a row, named, with its weights over it: what a film of the answer shows, on a sheet. */
export function filmDrawing(
  axis: GridAxis,
  matrix: Matrix,
  rows: readonly string[],
  manner: Manner,
  wash: Wash,
  across = 5,
): Drawing {
  const room = { width: 300, height: 150 };
  const panels = rows.map((name, at) => {
    const weights = rowOf(matrix, at);
    const most = share(Math.max(...weights));
    const drawing = placesDrawing(axis, weights, { manner, wash, room, noted: false });
    const label = {
      width: 150,
      height: 18,
      marks: [words(0, 9, `${name}  ${most}`, { size: 13 })],
    };
    return stacked(drawing ? [drawing, label] : [label], 4);
  });
  const lines = Array.from({ length: Math.ceil(panels.length / across) }, (_, at) =>
    beside(panels.slice(at * across, (at + 1) * across), 16),
  );
  return stacked(lines, 16);
}

/** The weights drawn where they belong; nothing for tokens, and for items that have no place in the plane. */
export function placesDrawing(
  axis: AnyAxis | undefined,
  weights: ArrayLike<number>,
  how: How = {},
): Drawing | null {
  if (!axis || weights.length !== axis.pieces.length || !weights.length) return null;
  const said = (drawing: Drawing): Drawing =>
    how.noted === false ? drawing : noted(drawing, weights, axis.kind === "grid" ? how : {});
  if (axis.kind === "grid") return said(gridDrawing(axis, weights, how));
  if (axis.kind === "times") return said(soundDrawing(axis, weights));
  if (axis.kind === "items" && axis.points.some((point) => point.length === 2)) {
    return said(pointsDrawing(axis, weights, how.route ?? []));
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

/** Shades are relative to the largest weight, which is therefore said; and so is what was interpolated. */
function noted(drawing: Drawing, weights: ArrayLike<number>, how: How): Drawing {
  const most = weights[strongest(weights)] ?? 0;
  const isSmooth = how.manner === "smooth" && how.wash;
  const rest = isSmooth ? "smooth, so interpolated between cells." : "the others in proportion.";
  const note = `The strongest mark is a weight of ${share(most)}; ${rest}`;
  return stacked([drawing, { width: WIDE, height: 18, marks: [words(0, 9, note, SOFT)] }], 6);
}

/** How much finer a smooth map is than its cells. */
export const FINE = 8;

/** Weights of a grid, column after column, as rows of dots `FINE` times as many: bilinear between the centres. */
export function interpolated(
  weights: ArrayLike<number>,
  rows: number,
  columns: number,
): Float32Array {
  const [high, wide] = [rows * FINE, columns * FINE];
  const found = new Float32Array(high * wide);
  const between = (dot: number, count: number): readonly [number, number, number] => {
    const place = Math.min(Math.max((dot + 0.5) / FINE - 0.5, 0), count - 1);
    const before = Math.floor(place);
    return [before, Math.min(before + 1, count - 1), place - before];
  };
  const cell = (row: number, column: number): number => weights[column * rows + row] ?? 0;
  for (let y = 0; y < high; y++) {
    const [top, bottom, down] = between(y, rows);
    for (let x = 0; x < wide; x++) {
      const [left, right, across] = between(x, columns);
      const upper = cell(top, left) * (1 - across) + cell(top, right) * across;
      const lower = cell(bottom, left) * (1 - across) + cell(bottom, right) * across;
      found[y * wide + x] = upper * (1 - down) + lower * down;
    }
  }
  return found;
}

export const GOLD = [245, 180, 0] as const;
const [DIM, STRONGEST] = [0.5, 0.8]; // of the picture where nobody looks, and of the gold at the largest weight

/** Cells are counted column after column, each from top to bottom; the picture may end before the last ones do. */
function gridDrawing(axis: GridAxis, weights: ArrayLike<number>, how: How): Drawing {
  const { rows, columns, picture } = axis;
  const { width: widest, height: highest } = how.room ?? { width: WIDE, height: 360 };
  const side = Math.max(1, Math.min(widest / columns, highest / rows));
  const [width, height] = [side * columns, side * rows];
  const most = Math.max(weights[strongest(weights)] ?? 0, 1e-9);
  const marks: Mark[] = [];
  const isHeld = picture.startsWith("data:image/");
  if (isHeld) {
    const [down, across] = [0, 1].map((at) => Math.min(1, Math.max(0.01, axis.covered[at] ?? 1)));
    const area = { x: 0, y: 0, width: width * across!, height: height * down! };
    const sharp = { style: "image-rendering:pixelated" };
    marks.push(box(0, 0, width, height, "#3c3c3c"));
    marks.push({
      tag: "image",
      at: { ...area, preserveAspectRatio: "none", href: picture, ...(side >= 12 ? sharp : {}) },
    });
    marks.push(box(0, 0, width, height, "#000", { "fill-opacity": DIM }));
  }
  if (isHeld && how.manner === "smooth" && how.wash) {
    const shares = interpolated(weights, rows, columns).map((one) => (STRONGEST * one) / most);
    const href = how.wash(shares, columns * FINE, rows * FINE);
    marks.push({
      tag: "image",
      at: { x: 0, y: 0, width, height, preserveAspectRatio: "none", href },
    });
  } else {
    for (let place = 0; place < weights.length; place++) {
      const [x, y] = [Math.floor(place / rows) * side, (place % rows) * side];
      const part = (weights[place] ?? 0) / most;
      const gap = side > 7 ? 1 : 0;
      marks.push(
        isHeld
          ? box(x, y, side, side, `rgb(${GOLD.join(" ")})`, {
              "fill-opacity": Math.round(100 * STRONGEST * part) / 100,
            })
          : box(x, y, side - gap, side - gap, css(cividis(part))),
      );
    }
  }
  marks.push(box(0, 0, width, height, "none", { stroke: ink("line") }));
  return { width, height, marks };
}

/** The whole sound; where it is not known how long it is, from the first moment to the end of the last. */
export function spanOf({ seconds, until }: TimesAxis): readonly [from: number, to: number] {
  if (until > 0) return [0, until];
  const step = seconds.length > 1 ? seconds.at(-1)! - seconds.at(-2)! : 1;
  return [seconds[0] ?? 0, (seconds.at(-1) ?? 0) + Math.max(step, 1e-3)];
}

/** The weights above, what was heard below, and one scale of seconds for both. */
function soundDrawing(axis: TimesAxis, weights: ArrayLike<number>): Drawing {
  const { seconds, waveform, spectrogram } = axis;
  const isSeen = spectrogram.startsWith("data:image/");
  const [tall, loud] = [90, isSeen ? 120 : waveform.length ? 70 : 0];
  const [from, to] = spanOf(axis);
  const x = (moment: number): number => ((moment - from) / (to - from)) * WIDE;
  const marks: Mark[] = [];
  const most = Math.max(weights[strongest(weights)] ?? 0, 1e-9);
  const step = seconds.length > 1 ? seconds[1]! - seconds[0]! : to - from;
  seconds.forEach((moment, at) => {
    const high = ((weights[at] ?? 0) / most) * tall;
    const begin = axis.until > 0 ? moment - step / 2 : moment; // a moment is the middle of what was heard
    const [left, right] = [Math.max(0, x(begin)), Math.min(WIDE, x(begin + step))];
    const width = Math.max(1, right - left - 1);
    if (high > 0.2) marks.push(box(left, tall - high, width, high, ink("accent")));
  });
  marks.push(line(0, tall, WIDE, tall, ink("line")));
  const top = tall + (loud ? 6 : 0);
  if (isSeen) {
    const area = { x: 0, y: top, width: WIDE, height: loud };
    marks.push({ tag: "image", at: { ...area, preserveAspectRatio: "none", href: spectrogram } });
  } else {
    const peak = waveform.reduce((high, one) => Math.max(high, Math.abs(one)), 1e-9);
    const thin = WIDE / Math.max(1, waveform.length);
    waveform.forEach((one, at) => {
      const high = Math.max(1, (Math.abs(one) / peak) * loud);
      const thick = Math.max(0.5, thin - 0.5);
      marks.push(box(at * thin, top + (loud - high) / 2, thick, high, ink("soft")));
    });
  }
  const floor = top + loud;
  const ticks = 5;
  for (let tick = 0; tick <= ticks; tick++) {
    const moment = from + ((to - from) * tick) / ticks;
    const anchor = tick === 0 ? "start" : tick === ticks ? "end" : "middle";
    const name = `${moment.toFixed(to - from < 10 ? 2 : 1)} s`;
    marks.push(words(x(moment), floor + 12, name, { ...SOFT, anchor }));
  }
  return { width: WIDE, height: floor + 22, marks };
}

/** Every item where its two numbers put it; the area of its disc is its weight. The line from the last to the first is dashed. */
function pointsDrawing(
  axis: ItemsAxis,
  weights: ArrayLike<number>,
  route: readonly number[],
): Drawing {
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
  const stops = route.flatMap((one) => placed.filter(({ at }) => at === one + unplaced));
  stops.forEach(({ x, y }, place) => {
    const next = stops[(place + 1) % stops.length]!;
    const isBack = place === stops.length - 1;
    if (stops.length < 2 || (isBack && stops.length < 3)) return;
    const leg = line(across(x), height - up(y), across(next.x), height - up(next.y), ink("edge"));
    marks.push({ ...leg, at: { ...leg.at, ...(isBack ? { "stroke-dasharray": "5 4" } : {}) } });
  });
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
