import { deflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { byWords, headsOf, scored, tile, unpacked } from "../src/pure/numbers";

it("reads numbers whose bytes lie in four planes", async () => {
  const numbers = Float32Array.from([0.987, 1 / 3, -Infinity, 1e-30, 0]);
  const bytes = new Uint8Array(numbers.buffer);
  const planes = Uint8Array.from(
    { length: 20 },
    (_, at) => bytes[4 * (at % 5) + Math.floor(at / 5)]!,
  );
  const text = `\n${Buffer.from(deflateSync(planes)).toString("base64")}\n`;
  expect(await unpacked(text)).toEqual(numbers);
});

it("takes one head, or the mean of some in float32", () => {
  const values = Float32Array.from([0.1, 0.2, 0.3, 0.4, 0.5, 0.7]);
  expect([...headsOf(values, [3, 1, 2], [1]).values]).toEqual([...values.subarray(2, 4)]);
  const sum = Math.fround(Math.fround(values[0]! + values[4]!));
  expect(headsOf(values, [3, 1, 2], [0, 2]).values[0]).toBe(Math.fround(sum / 2));
});

it("sums over the pieces looked at and averages over those that look", () => {
  const matrix = { rows: 3, columns: 2, values: Float32Array.from([0.5, 0.5, 0.25, 0.75, 1, 0]) };
  const words = byWords(
    matrix,
    { words: ["a", "b"], word_ids: [0, 0, 1] },
    { words: ["c"], word_ids: [0, 0] },
  );
  expect([words.rows, words.columns, ...words.values]).toEqual([2, 1, 1, 1]);
  const pieces = { words: ["c", "d"], word_ids: [0, 1] };
  const half = byWords(matrix, { words: ["a", "b"], word_ids: [0, 0, 1] }, pieces);
  expect([...half.values]).toEqual([0.375, 0.625, 1, 0]);
});

it("keeps every peak in a tile, and repeats the cells of a small map", () => {
  const large = new Float32Array(100 * 70);
  large[99 * 70 + 69] = 0.25;
  const shades = tile({ rows: 100, columns: 70, values: large }, 32);
  expect([shades[1023], Math.max(...shades.subarray(0, 1023))]).toEqual([128, 0]);
  const small = tile({ rows: 1, columns: 2, values: Float32Array.from([1, 0]) }, 4);
  expect([...small]).toEqual([255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0]);
  expect(tile({ rows: 0, columns: 0, values: new Float32Array() }, 2)).toEqual(new Uint8Array(4));
});

it("adds up what each neuron gives, for products and for the additive score", () => {
  const vectors = {
    query: Float32Array.from([1, 2]),
    key: Float32Array.from([3, 4, 5, 6, 7, 8]),
    scores: Float32Array.from([5.5, -Infinity, 11.5]),
    weights: Float32Array.from([0.25, 0, 0.75]),
  };
  const site = { shape: [1, 1, 3], width: 2, combine: "product", scale: 0.5 } as const;
  const found = scored(vectors, site, 0, 0, 2);
  expect(found.places).toEqual([0, 2]);
  expect(found.contributions).toEqual([
    [1.5, 4],
    [3.5, 8],
  ]);
  expect([found.scores, found.weights]).toEqual([
    [5.5, 11.5],
    [0.25, 0.75],
  ]);
  expect([found.total, found.capped, found.bias]).toEqual([3, true, null]);
  const all = scored({ ...vectors, bias: Float32Array.from([1, 2, 3]) }, site, 0, 0, 9);
  expect([all.scores[1], all.bias, all.capped]).toEqual([null, [1, 2, 3], false]);
  const v = { ...vectors, neuron_weight: Float32Array.from([2, -1]) };
  const additive = scored(v, { ...site, combine: "additive", scale: 1 }, 0, 0, 1);
  expect(additive.contributions[0]![0]).toBeCloseTo(2 * Math.tanh(8), 6);
});
