import { expect, it } from "vitest";
import { heightsOf } from "../src/pure/graph";

const stream = (query: number, key: number, strength: number) => ({
  layer: 0,
  query,
  key,
  weight: strength,
  strength,
});

it("draws on each side the tokens that it has, and no others", () => {
  const streams = [stream(0, 300, 0.9), stream(0, 7, 0.1)];
  const sides = { keys: 320, queries: 1, isStack: false, row: 0 };
  const { keys, queries } = heightsOf(streams, sides, 96);
  expect([...queries]).toEqual([[0, 0]]);
  expect(keys.size).toBe(96);
  expect(keys.has(300) && keys.has(7)).toBe(true);
});

it("draws all tokens where there are few, in their order", () => {
  const found = heightsOf([], { keys: 3, queries: 2, isStack: false, row: 1 }, 96);
  expect([...found.keys]).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
  ]);
  expect([...found.queries].length).toBe(2);
});

it("shows the same tokens in every column of a stack, the one that is followed among them", () => {
  const streams = [stream(5, 9, 0.5)];
  const { keys, queries } = heightsOf(
    streams,
    { keys: 200, queries: 200, isStack: true, row: 150 },
    3,
  );
  expect(keys).toBe(queries);
  expect(keys.has(150) && keys.has(5) && keys.has(9)).toBe(true);
});
