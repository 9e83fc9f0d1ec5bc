import { expect, it } from "vitest";
import {
  cellSides,
  cellSize,
  finished,
  labelStride,
  moved,
  path,
  spelled,
  ticks,
  tree,
} from "../src/pure/layout";
import type { Expansion } from "../src/schema";

it("arrow keys move the cursor and stop at the edges", () => {
  const here = { row: 1, column: 1 };
  expect(moved("ArrowDown", here, 3, 5)).toEqual({ row: 2, column: 1 });
  expect(moved("ArrowDown", { row: 2, column: 1 }, 3, 5)).toEqual({ row: 2, column: 1 });
  expect(moved("ArrowLeft", { row: 0, column: 0 }, 3, 5)).toEqual({ row: 0, column: 0 });
  expect(moved("End", here, 3, 5)).toEqual({ row: 1, column: 4 });
  expect(moved("PageDown", here, 3, 5)).toEqual({ row: 2, column: 1 });
  expect(moved("Tab", here, 3, 5)).toBeNull();
});

it("cells fit the room within their bounds", () => {
  const room = { width: 700, height: 330 };
  expect(cellSize(11, 7, room, { least: 2, most: 56 })).toBe(30);
  expect(cellSize(2, 2, room, { least: 2, most: 56 })).toBe(56);
  expect(cellSize(2000, 2000, room, { least: 2, most: 56 })).toBe(2);
  expect(labelStride(5, 16)).toBe(4);
  expect(labelStride(30, 16)).toBe(1);
});

it("ticks are round and inside", () => {
  expect(ticks(0, 600)).toEqual([0, 200, 400, 600]);
  expect(ticks(0, 1, 4)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(ticks(3, 3)).toEqual([3]);
});

it("draws a path", () =>
  expect(
    path([
      [0, 1],
      [2.25, 3],
    ]),
  ).toBe("M0.0 1.0L2.3 3.0"));

it("a beam's tree finds each candidate's parent through the slots that were kept", () => {
  const node = (
    parent: number,
    symbol: string,
    slot: number,
    fate: Expansion["fate"],
  ): Expansion => ({
    parent,
    symbol,
    slot,
    fate,
    id: 0,
    log_probability: -1,
    total: -1,
    winner: false,
    forced: false,
  });
  const nodes = tree([
    [node(0, "I", 0, "kept"), node(0, "a", 1, "kept"), node(0, "x", -1, "dropped")],
    [node(1, "b", 0, "kept"), node(0, "am", 1, "kept"), node(0, "</s>", 2, "ended")],
    [node(0, "c", 0, "ended")],
  ]);
  expect(nodes.map((one) => one.before)).toEqual([-1, -1, -1, 1, 0, 0, 3]);
  expect(spelled(nodes, 6)).toEqual(["a", "b", "c"]);
  const worth = nodes.map((one, at) => ({ ...one, total: at === 5 ? -3 : -2 }));
  expect(finished(worth)).toEqual([6, 5]); // the ended ones alone, the more probable first
});

it("cells are wider than high where there is room, square where there is none, and never too flat to see", () => {
  const room = { width: 700, height: 400 };
  expect(cellSides(12, 10, room, { least: 2, most: 72 })).toEqual({ wide: 56, tall: 33 });
  expect(cellSides(12, 40, room, { least: 2, most: 72 })).toEqual({ wide: 17, tall: 17 });
  expect(cellSides(2, 400, room, { least: 2, most: 72 })).toEqual({ wide: 2, tall: 24 });
  expect(cellSides(43, 15, room, { least: 2, most: 72 })).toEqual({ wide: 24, tall: 9 });
});
