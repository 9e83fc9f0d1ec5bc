// Which tokens of a graph are drawn, and at which height: all of them, or of very many those that matter most.

import { foremost, type Stream } from "./matrix";

export interface Sides {
  readonly keys: number;
  readonly queries: number;
  /** Whether both sides are the same tokens, so that every column shows the same ones. */
  readonly isStack: boolean;
  /** The query that is followed, which is always drawn. */
  readonly row: number;
}

export interface Heights {
  /** The order of each token that is drawn, by its number. */
  readonly keys: ReadonlyMap<number, number>;
  readonly queries: ReadonlyMap<number, number>;
}

/** The tokens of each side, at most so many: those with the largest weights. */
export function heightsOf(streams: readonly Stream[], sides: Sides, most: number): Heights {
  const keys = new Float32Array(sides.keys);
  const queries = sides.isStack ? keys : new Float32Array(sides.queries);
  for (const { query, key, strength } of streams) {
    queries[query]! += strength;
    keys[key]! += strength;
  }
  queries[sides.row] = Infinity;
  const ordered = (sums: Float32Array): ReadonlyMap<number, number> =>
    new Map(foremost(sums, most).map((token, place) => [token, place]));
  const found = ordered(keys);
  return { keys: found, queries: sides.isStack ? found : ordered(queries) };
}
