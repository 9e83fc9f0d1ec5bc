import { expect, it } from "vitest";
import {
  around,
  at,
  decode,
  difference,
  followed,
  foremost,
  fromBase64,
  headOf,
  largest,
  matrixOf,
  pooled,
  reach,
  received,
  rowOf,
  shades,
  strongest,
} from "../src/pure/matrix";

it("reads float32 as they are, and refuses bytes of another shape", () => {
  const weights = Float32Array.from({ length: 12 }, (_, place) => 1 / (place + 3));
  expect(decode(weights.slice().buffer, 3, 4).values).toEqual(weights);
  expect(() => decode(new ArrayBuffer(5), 2, 3)).toThrow("5 bytes are not 2 x 3 numbers");
  expect([...shades(Uint8Array.of(0, 51, 255), 1, 3).values]).toEqual([0, Math.fround(0.04), 1]);
});

it("reads base64 and rows", () => {
  expect([...new Uint8Array(fromBase64("AAH/"))]).toEqual([0, 1, 255]);
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

it("finds the strongest cells of some rows and columns, weakest first", () => {
  const table = matrixOf([
    [0.1, 0.9, 0.5],
    [0.7, 0.2, 0.6],
  ]);
  const found = strongest(table, [0, 1], [0, 2], 0.15, 2);
  expect(found.map(({ row, column }) => [row, column])).toEqual([
    [1, 2],
    [1, 0],
  ]);
  expect([...received(table, [0, 1])].map((sum) => sum.toFixed(1))).toEqual(["0.8", "1.1", "1.1"]);
});

it("shows as many places as there is room for", () => {
  expect(foremost([0.2, 0.9, 0.1, 0.5], 2)).toEqual([1, 3]);
  expect(around(5, 3, 9)).toEqual([0, 1, 2, 3, 4]);
  expect(around(100, 50, 4)).toEqual([48, 49, 50, 51]);
  expect(around(100, 99, 4)).toEqual([96, 97, 98, 99]);
});

it("pools uneven sizes without losing a peak", () => {
  const table = Array.from({ length: 7 }, (_, row) =>
    Array.from({ length: 11 }, (_, column) => (row === 6 && column === 10 ? -3 : 0.1)),
  );
  const small = pooled(matrixOf(table), 4);
  expect([small.matrix.rows, small.matrix.columns]).toEqual([4, 4]);
  expect(at(small.matrix, 3, 3)).toBe(-3);
});

it("follows a token through the layers as rollout does", () => {
  const layers = [
    matrixOf([
      [1, 0],
      [0.5, 0.5],
    ]),
    matrixOf([
      [0, 1],
      [0, 1],
    ]),
  ];
  // Half stays (the residual): row 0 of (A2 + I)/2 (A1 + I)/2.
  expect([...followed(layers, 0).source]).toEqual([0.625, 0.375]);
  expect([...followed(layers, 1).source]).toEqual([0.25, 0.75]);
});

it("draws every way that a token's share takes down to the text", () => {
  const even = [
    [0.5, 0.5],
    [0.5, 0.5],
  ];
  const layers = Array.from({ length: 9 }, () => matrixOf(even));
  const { source, streams } = followed(layers, 1, 0.01);
  for (const layer of layers.keys()) {
    const through = streams.filter((stream) => stream.layer === layer);
    // Nothing is lost on the way: what passes a layer is the whole of what is followed.
    expect(through.reduce((sum, { strength }) => sum + strength, 0)).toBeCloseTo(1, 5);
  }
  const arrived = streams.filter((stream) => stream.layer === 0 && stream.key === 0);
  expect(arrived.reduce((sum, { strength }) => sum + strength, 0)).toBeCloseTo(source[0]!, 5);
  expect(followed(layers, 1).streams).toEqual([]);
});

it("pools a difference by the cell that is farthest from zero", () => {
  const wave = (by: number) => Float32Array.from({ length: 35 }, (_, at) => Math.sin(at * by));
  const one = { rows: 5, columns: 7, values: wave(1.7) };
  const apart = difference(one, { rows: 5, columns: 7, values: wave(0.3) })!;
  const small = pooled(apart, 2);
  for (let row = 0; row < small.matrix.rows; row++) {
    for (let column = 0; column < small.matrix.columns; column++) {
      const cells = [...apart.values].filter(
        (_, at) =>
          Math.floor(Math.floor(at / 7) / small.down) === row &&
          Math.floor((at % 7) / small.across) === column,
      );
      const far = cells.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
      expect(at(small.matrix, row, column)).toBe(far);
    }
  }
});
