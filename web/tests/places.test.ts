// Weights over a picture, a sound and points: every mark stands where its place is.

import { describe, expect, it } from "vitest";
import type { Mark } from "../src/pure/drawing";
import {
  FINE,
  filmDrawing,
  interpolated,
  placesDrawing,
  placesLabel,
  type AnyAxis,
} from "../src/pure/places";

function flat(marks: readonly Mark[]): Mark[] {
  return marks.flatMap((mark) => [mark, ...flat(mark.inside ?? [])]);
}
function axis(of: object, count: number): AnyAxis {
  const pieces = Array.from({ length: count }, (_, at) => `p${at}`);
  return {
    pieces,
    words: pieces,
    word_ids: pieces.map((_, at) => at),
    ...of,
  } as unknown as AnyAxis;
}
const PICTURE = "data:image/png;base64,AAAA";

it("interpolates between the centres of cells, and beyond the outer ones stays", () => {
  const fine = interpolated([0, 1, 0, 1], 2, 2); // two columns, each 0 above 1
  const wide = 2 * FINE;
  const down = Array.from({ length: wide }, (_, y) => fine[y * wide]!);
  expect(down[0]).toBe(0);
  expect(down.at(-1)).toBe(1);
  expect(down[FINE - 1]! + down[FINE]!).toBeCloseTo(1); // half-way, from both sides
  expect(down).toEqual([...down].sort((a, b) => a - b));
});

describe("a picture", () => {
  const grid = axis({ kind: "grid", rows: 2, columns: 3, picture: PICTURE, covered: [1, 0.5] }, 6);
  const weights = [0, 0.1, 0.2, 0.4, 0.1, 0.2]; // column after column: the most at row 2, column 2

  it("lies under its weights, which are counted column after column", () => {
    const marks = flat(placesDrawing(grid, weights)!.marks);
    expect(marks.find(({ tag }) => tag === "image")?.at["href"]).toBe(PICTURE);
    const golden = (at: Mark["at"]): boolean => String(at["fill"]).startsWith("rgb");
    const cells = marks.filter(({ at }) => golden(at)).map(({ at }) => at);
    expect(cells).toHaveLength(6);
    const best = cells.find((at) => at["fill-opacity"] === 0.8)!;
    expect([best["x"], best["y"]]).toEqual([best["width"], best["height"]]);
    expect(cells[0]!["fill-opacity"]).toBe(0);
    expect(placesLabel(grid, weights)).toContain("0.400, at p3");
  });
  it("takes as much of the grid as it covers, and is not stretched over cells beyond it", () => {
    const drawing = placesDrawing(grid, weights)!;
    const image = flat(drawing.marks).find(({ tag }) => tag === "image")!.at;
    expect(Number(image["width"]) * 2).toBeCloseTo(Number(image["height"]) * 1.5);
  });
  it("is smooth where a page can paint it, and says so", () => {
    const painted: [Float32Array, number, number][] = [];
    const wash = (...made: [Float32Array, number, number]): string => {
      painted.push(made);
      return "data:image/png;base64,BBBB";
    };
    const marks = flat(placesDrawing(grid, weights, { manner: "smooth", wash })!.marks);
    expect(marks.filter(({ tag }) => tag === "image")).toHaveLength(2);
    expect(painted[0]!.slice(1)).toEqual([3 * FINE, 2 * FINE]);
    expect(Math.max(...painted[0]![0])).toBeLessThanOrEqual(0.8);
    expect(marks.some(({ text }) => text?.includes("interpolated"))).toBe(true);
    const cells = flat(placesDrawing(grid, weights, { manner: "cells", wash })!.marks);
    expect(cells.some(({ text }) => text?.includes("interpolated"))).toBe(false);
  });
  it("has one small picture a row on a sheet", () => {
    const matrix = { rows: 2, columns: 6, values: Float32Array.from([...weights, ...weights]) };
    const sheet = filmDrawing(grid as never, matrix, ["a", "b"], "cells", () => "");
    const marks = flat(sheet.marks);
    expect(marks.filter(({ tag }) => tag === "image")).toHaveLength(2);
    expect(marks.map(({ text }) => text)).toEqual(expect.arrayContaining(["a  0.400", "b  0.400"]));
  });
  it("is never fetched from anywhere: only what the trace holds is shown", () => {
    const far = axis(
      { kind: "grid", rows: 2, columns: 3, picture: "https://example.org/a", covered: [1, 1] },
      6,
    );
    expect(flat(placesDrawing(far, weights)!.marks).some(({ tag }) => tag === "image")).toBe(false);
  });
  it("has coloured cells where there is no picture", () => {
    const bare = axis({ kind: "grid", rows: 2, columns: 3, picture: "" }, 6);
    const fills = flat(placesDrawing(bare, weights)!.marks).map(({ at }) => at["fill"]);
    expect(new Set(fills.filter((one) => String(one).startsWith("rgb"))).size).toBe(4);
  });
});

it("draws a sound over seconds, each bar as high as its weight", () => {
  const sound = axis(
    { kind: "times", seconds: [0, 0.5, 1], waveform: [0.1, -0.4], spectrogram: "", sound: "" },
    3,
  );
  const marks = flat(placesDrawing(sound, [0.2, 0.6, 0.2])!.marks);
  const bars = marks.filter(({ at }) => at["fill"] === "var(--accent)").map(({ at }) => at);
  expect(bars.map((at) => Number(at["height"]).toFixed(1))).toEqual(["30.0", "90.0", "30.0"]);
  expect(marks.map(({ text }) => text)).toContain("1.50 s");
});

it("draws the whole of a sound whose length is known, and each bar about its moment", () => {
  const sound = axis(
    { kind: "times", seconds: [0.5, 1.5], waveform: [], spectrogram: "", sound: "", until: 2 },
    2,
  );
  const marks = flat(placesDrawing(sound, [0.5, 0.5])!.marks);
  const bars = marks.filter(({ at }) => at["fill"] === "var(--accent)").map(({ at }) => at);
  const middle = Number(bars[1]!["x"]);
  expect(Number(bars[0]!["x"])).toBe(0);
  expect(Number(bars[0]!["width"])).toBeCloseTo(middle - 1);
  const names = marks.flatMap(({ text }) => (text?.endsWith(" s") ? [text] : []));
  expect([names[0], names.at(-1)]).toEqual(["0.00 s", "2.00 s"]);
});

it("puts items where their numbers are, named by their positions, the stop sign left out", () => {
  const items = axis({ kind: "items", points: [[], [0, 0], [1, 1]] }, 3);
  const marks = flat(placesDrawing(items, [0.5, 0.1, 0.4])!.marks);
  const dots = marks.filter(({ tag, at }) => tag === "circle" && at["r"] === 3);
  expect(dots).toHaveLength(2);
  expect(Number(dots[1]!.at["cy"])).toBeLessThan(Number(dots[0]!.at["cy"]));
  expect(marks.map(({ text }) => text)).toEqual(expect.arrayContaining(["0", "1"]));
});

it("draws nothing for tokens, for items without a place, and for weights that are not theirs", () => {
  expect(placesDrawing(axis({ kind: "tokens" }, 2), [0.5, 0.5])).toBeNull();
  expect(placesDrawing(axis({ kind: "items", points: [[1], [2]] }, 2), [0.5, 0.5])).toBeNull();
  expect(
    placesDrawing(axis({ kind: "grid", rows: 1, columns: 2, picture: "" }, 2), [1]),
  ).toBeNull();
  expect(placesDrawing(undefined, [1])).toBeNull();
});

it("joins the items of an answer in their order, and dashes the line from the last to the first", () => {
  const plane = axis({ kind: "items", points: [[], [0, 0], [1, 0], [1, 1]] }, 4);
  const legs = flat(placesDrawing(plane, [0, 1, 0, 0], { route: [0, 2, 1] })!.marks).filter(
    ({ tag }) => tag === "line",
  );
  expect(legs).toHaveLength(3);
  expect(legs.map(({ at }) => "stroke-dasharray" in at)).toEqual([false, false, true]);
  expect([legs[1]!.at["x1"], legs[1]!.at["y1"]]).toEqual([legs[0]!.at["x2"], legs[0]!.at["y2"]]);
});
