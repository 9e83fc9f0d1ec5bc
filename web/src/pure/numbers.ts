// What a server does with the numbers of a trace, done by a page that has the trace inside. The arithmetic is the
// library's: float32 where it takes float32, so that both show the same digits.

import { fromBase64, type Matrix } from "./matrix";

export type Shape = readonly [heads: number, rows: number, columns: number];

export interface WordAxis {
  readonly word_ids: readonly (number | null)[];
  readonly words: readonly string[];
}

/** Numbers as the file holds them: base64 of deflated float32, the first bytes of all of them together, and so on. */
export async function unpacked(text: string): Promise<Float32Array<ArrayBuffer>> {
  const packed = new Response(fromBase64(text.trim())).body!;
  const stream = packed.pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < 4; plane++) {
    for (let at = 0; at < count; at++) bytes[4 * at + plane] = planes[plane * count + at]!;
  }
  return new Float32Array(bytes.buffer);
}

/** One head of a stack, or the mean of some: their sum in order, divided once. */
export function headsOf(values: Float32Array, shape: Shape, heads: readonly number[]): Matrix {
  const [, rows, columns] = shape;
  const size = rows * columns;
  const slice = (head: number): Float32Array => values.subarray(head * size, (head + 1) * size);
  if (heads.length === 1) return { rows, columns, values: slice(heads[0]!) };
  const mean = new Float32Array(size);
  for (const head of heads) slice(head).forEach((value, at) => (mean[at]! += value));
  for (let at = 0; at < size; at++) mean[at]! /= heads.length;
  return { rows, columns, values: mean };
}

/** The same between words: a word is looked at as much as all its pieces, and looks as they do on average. */
export function byWords(matrix: Matrix, queries: WordAxis, keys: WordAxis): Matrix {
  const [rows, columns] = [queries.words.length, keys.words.length];
  const pieces = new Float64Array(rows);
  for (const word of queries.word_ids) if (word !== null) pieces[word]! += 1;
  const looks = new Float64Array(rows * matrix.columns);
  queries.word_ids.forEach((word, row) => {
    if (word === null) return;
    for (let column = 0; column < matrix.columns; column++) {
      looks[word * matrix.columns + column]! += matrix.values[row * matrix.columns + column]!;
    }
  });
  const sums = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    keys.word_ids.forEach((word, column) => {
      if (word === null) return;
      const mean = looks[row * matrix.columns + column]! / Math.max(1, pieces[row]!);
      sums[row * columns + word]! += mean;
    });
  }
  return { rows, columns, values: Float32Array.from(sums) };
}

/** A head as shades, side x side bytes: the root of the largest weight of each block, times 255. */
export function tile({ rows, columns, values }: Matrix, side: number): Uint8Array {
  const found = new Uint8Array(side * side);
  if (!values.length) return found;
  const starts = (size: number): number[] =>
    Array.from({ length: side + 1 }, (_, at) => Math.floor((at * size) / side));
  const [down, across] = [starts(rows), starts(columns)];
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      let peak = 0;
      // Where two starts are equal the cell is repeated: small maps grow.
      for (let y = down[row]!; y < Math.max(down[row + 1]!, down[row]! + 1); y++) {
        for (let x = across[column]!; x < Math.max(across[column + 1]!, across[column]! + 1); x++) {
          peak = Math.max(peak, values[y * columns + x]!);
        }
      }
      found[row * side + column] = Math.round(Math.sqrt(Math.min(peak, 1)) * 255);
    }
  }
  return found;
}

/** The arrays that a score is made of, of all heads. */
export interface Vectors {
  readonly query: Float32Array;
  readonly key: Float32Array;
  readonly scores: Float32Array;
  readonly weights: Float32Array;
  readonly neuron_weight?: Float32Array | undefined;
  readonly bias?: Float32Array | undefined;
}

export interface Scored {
  readonly query: number[];
  readonly places: number[];
  readonly keys: number[][];
  readonly contributions: number[][];
  readonly bias: number[] | null;
  readonly scores: (number | null)[];
  readonly weights: number[];
  readonly total: number;
  readonly capped: boolean;
}

/** One query against its heaviest keys, in the order of the keys: what each neuron adds to each score. */
export function scored(
  vectors: Vectors,
  site: { shape: Shape; width: number; combine: string; scale: number },
  head: number,
  row: number,
  most: number,
): Scored {
  const [, rows, total] = site.shape;
  const { width } = site;
  const at = (head * rows + row) * total;
  const weights = vectors.weights.subarray(at, at + total);
  const heaviest = Array.from({ length: total }, (_, place) => place).sort(
    (a, b) => weights[b]! - weights[a]! || a - b,
  );
  const places = heaviest.slice(0, most).sort((a, b) => a - b);
  const query = vectors.query.subarray(
    (head * rows + row) * width,
    (head * rows + row + 1) * width,
  );
  const keys = places.map((place) =>
    vectors.key.subarray((head * total + place) * width, (head * total + place + 1) * width),
  );
  const v = vectors.neuron_weight?.subarray(head * width, (head + 1) * width);
  const scale = Math.fround(site.scale);
  const added = (key: Float32Array): number[] =>
    Array.from(key, (value, neuron) =>
      site.combine === "additive"
        ? Math.fround(
            Math.fround(Math.tanh(Math.fround(query[neuron]! + value))) * (v?.[neuron] ?? 0),
          )
        : Math.fround(Math.fround(query[neuron]! * value) * scale),
    );
  return {
    query: [...query],
    places,
    keys: keys.map((key) => [...key]),
    contributions: keys.map(added),
    bias: vectors.bias ? places.map((place) => vectors.bias![at + place]!) : null,
    scores: places.map((place) => {
      const score = vectors.scores[at + place]!;
      return Number.isFinite(score) ? score : null;
    }),
    weights: places.map((place) => weights[place]!),
    total,
    capped: places.length < total,
  };
}
