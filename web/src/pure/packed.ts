// Weights as they travel, a byte each: read where they stand, since of millions only a few are looked at.

import type { Matrix } from "./matrix";

const SQUARES = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

/** Square roots in bytes; small weights keep their digits (error below 0.004). */
export class Packed implements Matrix {
  #values: Float32Array | undefined;

  constructor(
    readonly bytes: Uint8Array,
    readonly rows: number,
    readonly columns: number,
  ) {}

  get values(): Float32Array {
    return (this.#values ??= this.slice(0, this.bytes.length));
  }

  cell(place: number): number {
    return SQUARES[this.bytes[place] ?? 0]!;
  }

  slice(from: number, to: number): Float32Array {
    const { bytes } = this;
    const found = new Float32Array(to - from);
    for (let place = 0; place < found.length; place++)
      found[place] = SQUARES[bytes[from + place]!]!;
    return found;
  }

  peaks(down: number, across: number): Float32Array {
    const { bytes, rows, columns } = this;
    const wide = Math.ceil(columns / across);
    const highest = new Uint8Array(Math.ceil(rows / down) * wide);
    for (let row = 0, from = 0; row < rows; row++) {
      const first = Math.floor(row / down) * wide;
      const end = from + columns;
      for (let place = first; from < end; place++) {
        const stop = Math.min(from + across, end);
        let high = highest[place]!;
        for (; from < stop; from++) {
          const byte = bytes[from]!;
          high = byte > high ? byte : high;
        }
        highest[place] = high;
      }
    }
    return Float32Array.from(highest, (byte) => SQUARES[byte]!);
  }
}

/** One minus another of the same shape. */
export class Apart implements Matrix {
  #values: Float32Array | undefined;
  readonly rows: number;
  readonly columns: number;

  constructor(
    readonly one: Packed,
    readonly other: Packed,
  ) {
    this.rows = one.rows;
    this.columns = one.columns;
  }

  get values(): Float32Array {
    return (this.#values ??= this.slice(0, this.one.bytes.length));
  }

  cell(place: number): number {
    return this.one.cell(place) - this.other.cell(place);
  }

  slice(from: number, to: number): Float32Array {
    const other = this.other.slice(from, to);
    return this.one.slice(from, to).map((value, place) => value - other[place]!);
  }

  peaks(down: number, across: number): Float32Array {
    const [one, other] = [this.one.bytes, this.other.bytes];
    const { rows, columns } = this;
    const wide = Math.ceil(columns / across);
    const farthest = new Float32Array(Math.ceil(rows / down) * wide);
    for (let row = 0, from = 0; row < rows; row++) {
      const first = Math.floor(row / down) * wide;
      const end = from + columns;
      for (let place = first; from < end; place++) {
        const stop = Math.min(from + across, end);
        let far = farthest[place]!;
        let size = Math.abs(far);
        for (; from < stop; from++) {
          const value = SQUARES[one[from]!]! - SQUARES[other[from]!]!;
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
}
