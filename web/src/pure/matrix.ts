// A table of numbers, row by row, and how it travels: one byte a weight, its square root times 255.

export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
}

/** The weights of square-root bytes; small weights keep their digits (error below 0.004). */
export function decode(bytes: Uint8Array, rows: number, columns: number): Matrix {
  if (bytes.length !== rows * columns) {
    throw new Error(`${bytes.length} bytes are not ${rows} x ${columns} weights`);
  }
  const values = new Float32Array(bytes.length);
  for (let place = 0; place < values.length; place++) values[place] = SQUARES[bytes[place]!]!;
  return { rows, columns, values };
}
const SQUARES = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

/** The bytes of a base64 text. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
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
  for (let place = 0; place < values.length; place++) mean[place % size]! += values[place]! / heads;
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

/** Fewer, larger cells, each the weight of those it stands for that is farthest from nought. */
export function pooled(matrix: Matrix, limit: number): Pooled {
  const down = Math.max(1, Math.ceil(matrix.rows / limit));
  const across = Math.max(1, Math.ceil(matrix.columns / limit));
  if (down === 1 && across === 1) return { matrix, down, across };
  const known = POOLED.get(matrix);
  if (known?.down === down && known.across === across) return known;
  const found = { matrix: farthest(matrix, down, across), down, across };
  POOLED.set(matrix, found);
  return found;
}

function farthest(matrix: Matrix, down: number, across: number): Matrix {
  const from = matrix.values;
  const rows = Math.ceil(matrix.rows / down);
  const columns = Math.ceil(matrix.columns / across);
  const values = new Float32Array(rows * columns);
  for (let place = 0; place < values.length; place++) {
    const [row, column] = [Math.floor(place / columns) * down, (place % columns) * across];
    const last = Math.min(row + down, matrix.rows) * matrix.columns;
    const wide = Math.min(across, matrix.columns - column);
    let [high, low] = [0, 0];
    for (let at = row * matrix.columns + column; at < last; at += matrix.columns) {
      for (let next = at; next < at + wide; next++) {
        const value = from[next]!;
        if (value > high) high = value;
        else if (value < low) low = value;
      }
    }
    values[place] = -low > high ? low : high;
  }
  return { rows, columns, values };
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

/** What one token draws from the text through all layers: rollout, half of each layer being the residual. */
export function followed(layers: readonly Matrix[], row: number): Float32Array {
  let flow = new Float32Array(layers[0]?.rows ?? 0);
  flow[row] = 1;
  for (const matrix of [...layers].reverse()) {
    const next = new Float32Array(matrix.columns);
    for (let query = 0; query < matrix.rows; query++) {
      if (!flow[query]) continue;
      const weights = rowOf(matrix, query);
      const total = 1 + weights.reduce((sum, weight) => sum + weight, 0);
      const share = flow[query]! / total;
      next[query]! += share;
      for (let key = 0; key < weights.length; key++) next[key]! += share * weights[key]!;
    }
    flow = next;
  }
  return flow;
}
