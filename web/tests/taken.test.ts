import { expect, it } from "vitest";
import { taken } from "../src/pure/taken";

function* counted(made: number[]): Generator<number> {
  for (let at = 0; ; at++) {
    made.push(at);
    yield at;
  }
}

it("takes the beginning, and makes no more than it must", () => {
  const made: number[] = [];
  expect(taken(counted(made), 3)).toEqual({ rows: [0, 1, 2], isMore: true });
  expect(made).toEqual([0, 1, 2, 3]);
});

it("says when that is all", () => {
  expect(taken([1, 2], 2)).toEqual({ rows: [1, 2], isMore: false });
  expect(taken([], 2)).toEqual({ rows: [], isMore: false });
});
