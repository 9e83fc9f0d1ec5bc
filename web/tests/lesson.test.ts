import { describe, expect, it } from "vitest";
import {
  cellText,
  grid,
  isDistribution,
  isShares,
  numbered,
  paragraphs,
  read,
  readInputs,
  shapeOf,
  spread,
  withCell,
} from "../src/pure/lesson";

it("points of the lectures are named in few words", () => {
  expect(numbered(["L8"])).toBe("L8");
  expect(numbered(["L35", "L36", "L37", "L38"])).toBe("L35 to L38");
  expect(numbered(["L1", "L2", "L9", "L10", "L11"])).toBe("L1, L2, L9 to L11");
});

it("any value becomes rows of cells", () => {
  expect(grid(3)).toEqual([[3]]);
  expect(grid([1, 2])).toEqual([[1, 2]]);
  expect(
    grid([
      ["I", 0.9],
      ["am", 0.8],
    ]),
  ).toEqual([
    ["I", 0.9],
    ["am", 0.8],
  ]);
});

it("a cell shows the digits that matter", () => {
  expect([true, "-inf", 0.42189900525, 1048576, 0.9999998874648379, 1e-16].map(cellText)).toEqual([
    "■",
    "−∞",
    "0.4219",
    "1,048,576",
    "0.9999999",
    "0",
  ]);
});

it("knows how an input is edited", () => {
  expect(shapeOf(0.5)).toBe("number");
  expect(shapeOf([1, 2])).toBe("row");
  expect(
    shapeOf([
      [1, 2],
      [3, 4],
    ]),
  ).toBe("table");
  expect(shapeOf([[1, 2], [3]])).toBe("text");
  expect(shapeOf(["I", "am"])).toBe("words");
  expect(shapeOf(Array(64).fill(1))).toBe("text");
  expect(shapeOf({ a: [1] })).toBe("text");
});

it("changes one number and nothing else", () => {
  const table = [
    [1, 2],
    [3, 4],
  ];
  expect(withCell(table, 1, 0, 9)).toEqual([
    [1, 2],
    [9, 4],
  ]);
  expect(table).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(withCell([1, 2], 0, 1, 9)).toEqual([1, 9]);
  expect(withCell(1, 0, 0, 9)).toBe(9);
});

it("reads what a person or an address says", () => {
  expect(read("[1, 2]")).toEqual({ value: [1, 2] });
  expect(read("[1,")).toHaveProperty("error");
  expect(readInputs('{"x":[1]}')).toEqual({ x: [1] });
  expect(["", "[1]", "nonsense", "null"].map(readInputs)).toEqual([{}, {}, {}, {}]);
});

it("tells shares of a whole from other numbers", () => {
  expect(isDistribution([0.88, 0.12])).toBe(true);
  expect(isDistribution([0.4, 0.6, 0.5])).toBe(false);
  expect(isDistribution(["I", 1])).toBe(false);
});

describe("what a step means", () => {
  it("weights are shares, and sums that happen to be one are not", () => {
    expect(isShares([0.4, 0.6], "softmax", "exp(e_j) / sum_l exp(e_l)")).toBe(true);
    expect(isShares([0.4, 0.6], "the input", "W_xh x_t")).toBe(false);
    expect(isShares([0.4, 0.6], "matrix form", "softmax(Q K^T / sqrt(d_k)) V")).toBe(false);
    expect(isShares([0.4, 0.7], "weights", "softmax")).toBe(false);
  });
  it("a docstring is paragraphs with code in them", () => {
    expect(paragraphs("One\ntwo.\n\nThe `x` is.")).toEqual([
      [{ text: "One two.", isCode: false }],
      [
        { text: "The ", isCode: false },
        { text: "x", isCode: true },
        { text: " is.", isCode: false },
      ],
    ]);
  });
});

it("writes what has names a line each, to be read back the same", () => {
  const tables = { "one-hot": { this: [0, 1] }, other: [[1, 2]] };
  expect(spread(tables).split("\n").length).toBe(4);
  expect(read(spread(tables))).toEqual({ value: tables });
  expect(spread([1, 2])).toBe("[1,2]");
});
