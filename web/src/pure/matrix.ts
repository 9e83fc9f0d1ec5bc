// A table of numbers, row by row, as it travels: float32, so that what is shown is what was computed.

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
}

/** The numbers of little-endian float32; every machine that a browser runs on writes them so. */
export function decode(bytes: ArrayBuffer, rows: number, columns: number): Matrix {
  if (bytes.byteLength !== 4 * rows * columns) {
    throw new Error(`${bytes.byteLength} bytes are not ${rows} x ${columns} numbers`);
  }
  return { rows, columns, values: new Float32Array(bytes) };
}

/** The square of each byte's share: shades of a thumbnail, which are looked at and never read as numbers. */
export function shades(bytes: Uint8Array, rows: number, columns: number): Matrix {
  return { rows, columns, values: Float32Array.from(bytes, (byte) => (byte / 255) ** 2) };
}

/** The bytes of a base64 text. */
export function fromBase64(text: string): ArrayBuffer {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

export function matrixOf(table: readonly (readonly number[])[]): Matrix {
  const columns = table[0]?.length ?? 0;
  return { rows: table.length, columns, values: Float32Array.from(table.flat()) };
}

export function at(matrix: Matrix, row: number, column: number): number {
  return matrix.values[row * matrix.columns + column] ?? 0;
}

export function rowOf(matrix: Matrix, row: number): Float32Array {
  return matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
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
  for (let place = 0; place < values.length; place++) mean[place % size]! += values[place]!;
  for (let place = 0; place < size; place++) mean[place]! /= heads;
  return { rows, columns, values: mean };
}

/** One minus the other where both have the same shape; else nothing can be compared. */
export function difference(one: Matrix, other: Matrix): Matrix | null {
  if (one.rows !== other.rows || one.columns !== other.columns) return null;
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

/** Fewer, larger cells, each the weight of those it stands for that is farthest from zero. */
export function pooled(matrix: Matrix, limit: number): Pooled {
  const down = Math.max(1, Math.ceil(matrix.rows / limit));
  const across = Math.max(1, Math.ceil(matrix.columns / limit));
  if (down === 1 && across === 1) return { matrix, down, across };
  const known = POOLED.get(matrix);
  if (known?.down === down && known.across === across) return known;
  const rows = Math.ceil(matrix.rows / down);
  const columns = Math.ceil(matrix.columns / across);
  const found = { matrix: { rows, columns, values: peaksOf(matrix, down, across) }, down, across };
  POOLED.set(matrix, found);
  return found;
}

/** Row by row and block by block: millions of cells in a few milliseconds. */
function peaksOf(matrix: Matrix, down: number, across: number): Float32Array {
  const { rows, columns, values } = matrix;
  const wide = Math.ceil(columns / across);
  const farthest = new Float32Array(Math.ceil(rows / down) * wide);
  for (let row = 0, from = 0; row < rows; row++) {
    const end = from + columns;
    for (let place = Math.floor(row / down) * wide; from < end; place++) {
      const stop = Math.min(from + across, end);
      let far = farthest[place]!;
      let size = far < 0 ? -far : far;
      for (; from < stop; from++) {
        const value = values[from]!;
        const own = value < 0 ? -value : value;
        if (own > size) {
          far = value;
          size = own;
        }
      }
      farthest[place] = far;
    }
  }
  return farthest;
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
