import { expect, it } from "vitest";
import {
  at,
  decode,
  difference,
  fromBase64,
  headOf,
  largest,
  matrixOf,
  pooled,
  reach,
  rowOf,
} from "../src/pure/matrix";

it("undoes square-root bytes to within 0.004", () => {
  const weights = Array.from({ length: 997 }, (_, place) => place / 996);
  const bytes = Uint8Array.from(weights, (weight) => Math.round(Math.sqrt(weight) * 255));
  const found = decode(bytes, 1, 997);
  weights.forEach((weight, place) =>
    expect(Math.abs(at(found, 0, place) - weight)).toBeLessThan(0.004),
  );
});

it("refuses bytes of another shape", () => {
  expect(() => decode(new Uint8Array(5), 2, 3)).toThrow("5 bytes are not 2 x 3 weights");
});

it("reads base64 and rows", () => {
  expect([...fromBase64("AAH/")]).toEqual([0, 1, 255]);
  const matrix = matrixOf([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  expect([...rowOf(matrix, 1)]).toEqual([4, 5, 6]);
  expect(at(matrix, 0, 2)).toBe(3);
});

it("takes one head or the mean of all", () => {
  const values = Float32Array.from([1, 2, 3, 4, 5, 6]);
  expect([...headOf(values, [2, 1, 3], 1).values]).toEqual([4, 5, 6]);
  expect([...headOf(values, [2, 1, 3], "mean").values]).toEqual([2.5, 3.5, 4.5]);
});

it("compares equal shapes alone", () => {
  const one = matrixOf([[1, 2]]);
  expect([...difference(one, matrixOf([[0.5, 4]]))!.values]).toEqual([0.5, -2]);
  expect(difference(one, matrixOf([[1], [2]]))).toBeNull();
});

it("finds the largest, and how far numbers reach, past infinities", () => {
  expect(largest([0.1, 0.7, 0.2, 0.7], 3)).toEqual([1, 3, 2]);
  expect(reach([-3, 2, Number.NEGATIVE_INFINITY])).toBe(3);
});

it("pools long matrices by their peaks and says by how much", () => {
  const values = new Float32Array(7 * 5);
  values[6 * 5 + 4] = 0.9;
  const { matrix, down, across } = pooled({ rows: 7, columns: 5, values }, 3);
  expect([matrix.rows, matrix.columns, down, across]).toEqual([3, 3, 3, 2]);
  expect(at(matrix, 2, 2)).toBeCloseTo(0.9);
  expect(pooled(matrix, 3)).toEqual({ matrix, down: 1, across: 1 });
});
