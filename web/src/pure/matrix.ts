// A table of numbers, row by row, and how it travels: one byte a weight, its square root times 255.

import { Apart, Packed } from "./packed";

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  /** All of them; where they travel packed, unpacked when first asked for. */
  readonly values: Float32Array;
  /** Some of them, where not all need to be unpacked for it. */
  cell?(place: number): number;
  slice?(from: number, to: number): Float32Array;
  peaks?(down: number, across: number): Float32Array;
}

/** The weights of square-root bytes. */
export function decode(bytes: Uint8Array, rows: number, columns: number): Matrix {
  if (bytes.length !== rows * columns) {
    throw new Error(`${bytes.length} bytes are not ${rows} x ${columns} weights`);
  }
  return new Packed(bytes, rows, columns);
}

/** The bytes of a base64 text. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function matrixOf(table: readonly (readonly number[])[]): Matrix {
  const columns = table[0]?.length ?? 0;
  return { rows: table.length, columns, values: Float32Array.from(table.flat()) };
}

export function at(matrix: Matrix, row: number, column: number): number {
  const place = row * matrix.columns + column;
  return matrix.cell ? matrix.cell(place) : (matrix.values[place] ?? 0);
}

export function rowOf(matrix: Matrix, row: number): Float32Array {
  const [from, to] = [row * matrix.columns, (row + 1) * matrix.columns];
  return matrix.slice ? matrix.slice(from, to) : matrix.values.subarray(from, to);
}

/** Head `head` of a stack (heads, rows, columns), or the mean over all. */
export function headOf(
  values: Float32Array,
  [heads, rows, columns]: readonly [number, number, number],
  head: number | "mean",
): Matrix {
  const size = rows * columns;
  if (head !== "mean")
    return { rows, columns, values: values.slice(head * size, (head + 1) * size) };
  const mean = new Float32Array(size);
  for (let place = 0; place < values.length; place++) mean[place % size]! += values[place]! / heads;
  return { rows, columns, values: mean };
}

/** One minus the other where both have the same shape; else nothing can be compared. */
export function difference(one: Matrix, other: Matrix): Matrix | null {
  if (one.rows !== other.rows || one.columns !== other.columns) return null;
  if (one instanceof Packed && other instanceof Packed) return new Apart(one, other);
  const values = new Float32Array(one.values.length);
  for (let place = 0; place < values.length; place++) {
    values[place] = one.values[place]! - other.values[place]!;
  }
  return { rows: one.rows, columns: one.columns, values };
}

/** The largest size of any finite number, for a signed scale. */
export function reach(values: ArrayLike<number>): number {
  let largest = 0;
  for (let place = 0; place < values.length; place++) {
    const value = values[place]!;
    const size = value < 0 ? -value : value;
    if (size > largest && size < Infinity) largest = size;
  }
  return largest;
}

/** The places of the `count` largest numbers, largest first. */
export function largest(row: ArrayLike<number>, count: number): number[] {
  const places = Array.from({ length: row.length }, (_, place) => place);
  return places.sort((a, b) => row[b]! - row[a]! || a - b).slice(0, count);
}

export interface Pooled {
  readonly matrix: Matrix;
  /** How many rows and columns of the whole one cell stands for. */
  readonly down: number;
  readonly across: number;
}

/** Cells a side that are still drawn one by one. */
export const FINEST = 512;
const POOLED = new WeakMap<Matrix, Pooled>();

/** Fewer, larger cells, each the weight of those it stands for that is farthest from nought. */
export function pooled(matrix: Matrix, limit: number): Pooled {
  const down = Math.max(1, Math.ceil(matrix.rows / limit));
  const across = Math.max(1, Math.ceil(matrix.columns / limit));
  if (down === 1 && across === 1) return { matrix, down, across };
  const known = POOLED.get(matrix);
  if (known?.down === down && known.across === across) return known;
  const rows = Math.ceil(matrix.rows / down);
  const columns = Math.ceil(matrix.columns / across);
  const values = matrix.peaks?.(down, across) ?? peaksOf(matrix, down, across);
  const found = { matrix: { rows, columns, values }, down, across };
  POOLED.set(matrix, found);
  return found;
}

function peaksOf(matrix: Matrix, down: number, across: number): Float32Array {
  const wide = Math.ceil(matrix.columns / across);
  const found = new Float32Array(Math.ceil(matrix.rows / down) * wide);
  matrix.values.forEach((value, at) => {
    const [row, column] = [Math.floor(at / matrix.columns), at % matrix.columns];
    const place = Math.floor(row / down) * wide + Math.floor(column / across);
    if (Math.abs(value) > Math.abs(found[place]!)) found[place] = value;
  });
  return found;
}

export interface Cell {
  readonly row: number;
  readonly column: number;
  readonly weight: number;
}

/** The strongest cells of some rows and columns, weakest first: none below `least`, and at most `most`. */
export function strongest(
  matrix: Matrix,
  rows: readonly number[],
  columns: readonly number[],
  least: number,
  most: number,
): Cell[] {
  const found: Cell[] = [];
  for (const row of rows) {
    const first = row * matrix.columns;
    for (const column of columns) {
      const weight = matrix.values[first + column]!;
      if (weight >= least) found.push({ row, column, weight });
    }
  }
  return found.sort((a, b) => a.weight - b.weight).slice(-most);
}

/** How much each column gets from some rows. */
export function received(matrix: Matrix, rows: readonly number[]): Float32Array {
  const sums = new Float32Array(matrix.columns);
  for (const row of rows) {
    const first = row * matrix.columns;
    for (let column = 0; column < sums.length; column++)
      sums[column]! += matrix.values[first + column]!;
  }
  return sums;
}

/** All places, or where they are too many, those with most to show, in their own order. */
export function foremost(sums: ArrayLike<number>, most: number): number[] {
  return largest(sums, most).sort((a, b) => a - b);
}

/** All places, or where they are too many, a window of them around one. */
export function around(count: number, place: number, most: number): number[] {
  const size = Math.min(count, most);
  const first = Math.min(Math.max(place - Math.floor(most / 2), 0), count - size);
  return Array.from({ length: size }, (_, at) => first + at);
}

/** What passes in one layer from a key to a query. */
export interface Stream {
  readonly layer: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
  readonly strength: number;
}

export interface Followed {
  /** The share of each token of the text. */
  readonly source: Float32Array;
  /** The ways that at least so much took. */
  readonly streams: readonly Stream[];
}

/** What one token draws from the text through all layers: rollout, half of each layer being the residual. */
export function followed(layers: readonly Matrix[], row: number, least = Infinity): Followed {
  let flow = new Float32Array(layers[0]?.rows ?? 0);
  const streams: Stream[] = [];
  flow[row] = 1;
  for (let layer = layers.length - 1; layer >= 0; layer--) {
    const matrix = layers[layer]!;
    const next = new Float32Array(matrix.columns);
    for (let query = 0; query < matrix.rows; query++) {
      if (!flow[query]) continue;
      const weights = rowOf(matrix, query);
      let total = 1;
      for (let key = 0; key < weights.length; key++) total += weights[key]!;
      const share = flow[query]! / total;
      for (let key = 0; key < weights.length; key++) {
        const weight = weights[key]!;
        const strength = share * (key === query ? weight + 1 : weight);
        next[key]! += strength;
        if (strength >= least) streams.push({ layer, query, key, weight, strength });
      }
    }
    flow = next;
  }
  return { source: flow, streams };
}
