// An engine without a server: the trace lies in the page, and what a server would work out is worked out here.

import type { Matrix } from "../pure/matrix";
import { byWords, headsOf, scored, tile, unpacked, type Vectors } from "../pure/numbers";
import { Recent } from "../pure/recent";
import type { Selection } from "../pure/selection";
import type { RunCard, TaskAbout, TraceAbout, TreeAbout } from "../schema";
import { ApiError, type About, type Engine, type Line, type Site, type Trace } from "./api";
import type { Theme } from "./studio.svelte";

const SIDE = 32; // of the shades of one head, as the server makes them
const MOST = 64; // keys of a query whose neurons are shown

/** Where the page opens. */
export interface Opening {
  readonly selection: Partial<Selection>;
  readonly theme?: Theme;
}

export interface Given {
  readonly version: string;
  readonly task: TaskAbout;
  readonly trace: TraceAbout;
  readonly tree: TreeAbout["steps"];
  readonly opening: Opening;
  /** Of each site the arrays it has: where each begins among all numbers, and how many it has. */
  readonly layout: readonly Readonly<Record<string, readonly [start: number, count: number]>>[];
  /** All numbers, deflated, as base64. */
  readonly numbers: string;
}

export function given(page: Document): Given {
  const text = (id: string): string => page.getElementById(id)?.textContent ?? "";
  return { ...JSON.parse(text("description")), numbers: text("numbers") };
}

export function inside(found: Given): Engine {
  const { trace: told, layout } = found;
  const name = told.model;
  const beam = Math.max(1, ...found.tree.flat().map(({ slot }) => slot + 1));
  const asked = { run: name, text: told.question, to: told.to, beam, prefix: [] };
  const trace: Trace = { ...told, asked };
  let all: Promise<Float32Array> | undefined;
  const matrices = new Recent<Matrix>(12_000_000);

  const card: RunCard = {
    name,
    task: told.task,
    parameters: 1,
    summary: "",
    place: name,
    live: false,
    ready: true,
  };
  const about: About = {
    version: found.version,
    runs: [card],
    tasks: { [told.task]: found.task },
    toys: [],
    demo: { state: "absent", run: "" },
  };

  async function array(site: Site, kind: string): Promise<Float32Array | undefined> {
    const place = layout[site.index]?.[kind];
    all ??= unpacked(found.numbers);
    return place && (await all).subarray(place[0], place[0] + place[1]);
  }
  async function stack(site: Site): Promise<Float32Array> {
    return (await array(site, "weights"))!;
  }
  const every = (site: Site): number[] => Array.from({ length: site.heads }, (_, head) => head);

  return {
    canAsk: false,
    about: async () => about,
    trace: async () => trace,
    async *answer(): AsyncGenerator<Line> {
      yield { kind: "parts", parts: [{ text: told.question, asked: true }], sentences: 1 };
      yield { kind: "answered", part: 0, trace };
      yield { kind: "finished", text: told.answer.text };
    },
    async weights(_, site, head, words) {
      const key = `${site.index} ${head} ${words}`;
      const known = matrices.get(key);
      if (known) return known;
      const heads = head === "mean" ? every(site) : typeof head === "number" ? [head] : head;
      const pieces = headsOf(await stack(site), site.shape, heads);
      const [queries, keys] = [told.axes[site.queries], told.axes[site.keys]];
      const matrix = words && queries && keys ? byWords(pieces, queries, keys) : pieces;
      matrices.keep(key, matrix, matrix.values.length);
      return matrix;
    },
    async thumbnails() {
      const tiles: Uint8Array[] = [];
      for (const site of told.sites) {
        const weights = await stack(site);
        for (const head of every(site)) {
          tiles.push(tile(headsOf(weights, site.shape, [head]), SIDE));
        }
      }
      const bytes = new Uint8Array(tiles.length * SIDE * SIDE);
      tiles.forEach((one, at) => bytes.set(one, at * SIDE * SIDE));
      return bytes;
    },
    async neurons(_, site, head, row) {
      const kinds = ["query", "key", "scores", "weights", "neuron_weight", "bias"] as const;
      const found = await Promise.all(kinds.map((kind) => array(site, kind)));
      const vectors = Object.fromEntries(kinds.map((kind, at) => [kind, found[at]]));
      if (!vectors["query"] || !vectors["scores"]) {
        throw new ApiError(
          "This page was too large to hold queries and keys, so they were left out.",
          "",
          "Ask the same of the model in “regard studio”.",
          422,
        );
      }
      return scored(vectors as unknown as Vectors, site, head, row, MOST);
    },
    tree: async () => ({ steps: found.tree }),
    exportPath: () => undefined,
  };
}
