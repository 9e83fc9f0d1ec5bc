import { describe, expect, it } from "vitest";
import {
  fromSlider,
  rangeOf,
  sizeNow,
  sizesOf,
  toSlider,
  withInput,
  withSize,
} from "../src/pure/knobs";

describe("a slider", () => {
  it.each([
    [{ min: -2, max: 2, step: 0.01 }, 0.35],
    [{ min: 1, max: 64, step: 1 }, 17],
    [{ min: 2, max: 100_000, step: 1, logarithmic: true }, 2],
    [{ min: 2, max: 100_000, step: 1, logarithmic: true }, 100_000],
  ])("comes back to where it was: %j %d", (range, value) => {
    expect(fromSlider(toSlider(value, range), range)).toBeCloseTo(value, 6);
  });
  it("stays within its ends", () => {
    const range = { min: 0, max: 1, step: 0.01 };
    expect(toSlider(9, range)).toBe(1000);
    expect(toSlider(-9, range)).toBe(0);
  });
  it("knows what a number may be", () => {
    expect(rangeOf("x", "outputs", [[0.1]], {})).toEqual({ min: 0, max: 1, step: 0.01 });
    expect(rangeOf("position-periods", "index", 48, { width: 50 }).max).toBe(49);
    expect(rangeOf("beam-of-two", "top_beams", 2, { beam_size: 3 }).max).toBe(3);
    expect(rangeOf("soft-table", "values", [[5]], {})).toEqual({ min: -10, max: 10, step: 0.01 });
  });
});

describe("inputs that belong together", () => {
  const inputs = {
    query: [1, 2],
    keys: [
      [1, 2],
      [3, 4],
    ],
    values: [[1], [0]],
  };
  const [neurons, keys] = sizesOf("six-steps");
  it("grow together", () => {
    expect(sizeNow(neurons!, inputs)).toBe(2);
    expect(withSize(neurons!, 3, inputs)).toEqual({
      query: [1, 2, 2],
      keys: [
        [1, 2, 2],
        [3, 4, 4],
      ],
    });
  });
  it("shrink together", () => {
    expect(withSize(keys!, 1, inputs)).toEqual({ keys: [[1, 2]], values: [[1]] });
  });
  it("a mask follows its words", () => {
    const masks = {
      words: ["a", "b"],
      length: 2,
      painted: [
        [1, 0],
        [0, 1],
      ],
    };
    const changed = withInput("painted-masks", "words", ["a"], masks);
    expect(changed).toEqual({ words: ["a"], length: 1, painted: [[1]] });
    expect(withSize(sizesOf("painted-masks")[0]!, 3, masks)).toMatchObject({
      words: ["a", "b", "w2"],
    });
  });
  it("every other input goes alone", () => {
    expect(withInput("six-steps", "query", [5], inputs)).toEqual({ query: [5] });
  });
});
