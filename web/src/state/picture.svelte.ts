// A matrix with the names of its rows and columns: fetched together, so that a late picture keeps its own labels.

import type { Matrix } from "../pure/matrix";
import { api, type Site, type Trace } from "./api";
import { asked, type Asking } from "./asked.svelte";
import { axisLabels, axisTitle } from "./studio.svelte";

export interface Picture {
  readonly matrix: Matrix;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly rowTitle: string;
  readonly columnTitle: string;
  readonly trace: Trace;
  readonly site: Site;
  readonly head: Heads;
}

/** One head, or the mean of all or of some. */
export type Heads = number | "mean" | readonly number[];

export interface Wanted {
  readonly trace: Trace;
  readonly site: Site;
  readonly head: Heads;
  readonly words: boolean;
}

/** The picture of what is wanted; asked for again only when that is another one. */
export function picture(wanted: () => Wanted | null): Asking<Picture> {
  const key = $derived.by(() => {
    const now = wanted();
    return now && `${now.trace.id} ${now.site.index} ${now.head} ${now.words}`;
  });
  return asked(
    () => key,
    async (_, signal) => {
      const { trace, site, head, words } = wanted()!;
      const matrix = await api.weights(trace, site, head, words, signal);
      const [rows, columns] = [site.queries, site.keys].map((axis) =>
        axisLabels(trace, axis, words),
      );
      const rowTitle = axisTitle(trace, site.queries, "queries");
      const columnTitle = axisTitle(trace, site.keys, "keys");
      return { matrix, rows: rows!, columns: columns!, rowTitle, columnTitle, trace, site, head };
    },
  );
}
