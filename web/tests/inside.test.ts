// @vitest-environment node
import { deflateSync } from "node:zlib";
import { expect, it } from "vitest";
import type { Site } from "../src/schema";
import { inside, type Given } from "../src/state/inside";

const signal = new AbortController().signal;

/** Numbers as `regard.show.page` packs them: the first bytes of all together, and so on. */
function packed(values: readonly number[]): string {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  const planes = bytes.map(
    (_, at) => bytes[4 * (at % values.length) + Math.floor(at / values.length)]!,
  );
  return deflateSync(planes).toString("base64");
}

const weights = [0.1, 0.9, 0.25, 0.75, 0.5, 0.5, 1, 0]; // 2 heads, 2 x 2
const site = {
  index: 0,
  path: "cross",
  queries: "target",
  keys: "source",
  heads: 2,
  shape: [2, 2, 2],
  width: 1,
  combine: "product",
  scale: 1,
} as Partial<Site> as Site;
const axis = { pieces: ["a", "b"], word_ids: [0, 0], words: ["ab"] };

function page(layout: Given["layout"], numbers: readonly number[]): Given {
  return {
    version: "1",
    task: { verb: "tag words", hint: "", reading: "", searches: true, continues: false },
    trace: {
      id: "inside",
      task: "any",
      model: "mine",
      question: "",
      to: "",
      answer: { text: "x" },
      axes: { source: axis, target: axis },
      sites: [site],
    },
    tree: [[{ slot: 2 }]],
    opening: { selection: {} },
    layout,
    numbers: packed(numbers),
  } as unknown as Given;
}

it("gives the very numbers of each head, their mean, and those between words", async () => {
  const engine = inside(page([{ weights: [0, 8] }], weights));
  const trace = await engine.trace({} as never, signal);
  const of = async (head: number | "mean" | readonly number[], words = false) => [
    ...(await engine.weights(trace, site, head, words, signal)).values,
  ];
  expect(await of(0)).toEqual([...Float32Array.from([0.1, 0.9, 0.25, 0.75])]);
  expect(await of([1])).toEqual([0.5, 0.5, 1, 0]);
  const both = Float32Array.from([0.1, 0.9]).map((value) => Math.fround(value + 0.5) / 2);
  expect((await of("mean")).slice(0, 2)).toEqual([...both]);
  expect(await of(1, true)).toEqual([1]);
  expect((await engine.thumbnails(trace, signal)).length).toBe(2 * 32 * 32);
});

it("answers with the trace that lies in the page, though nothing was typed", async () => {
  const engine = inside(page([{ weights: [0, 8] }], weights));
  const kinds = [];
  for await (const line of engine.answer({} as never, signal)) kinds.push(line.kind);
  expect(kinds).toEqual(["parts", "answered", "finished"]);
  const about = await engine.about(signal);
  expect([about.runs[0]?.name, about.tasks["any"]?.verb]).toEqual(["mine", "tag words"]);
  expect((await engine.trace({} as never, signal)).asked.beam).toBe(3);
  expect(engine.canAsk).toBe(false);
});

it("works scores out of queries and keys, and says where they were left out", async () => {
  const numbers = [...weights, 2, 3, 0, 0, 5, 7, 0, 0, ...Array<number>(8).fill(1)];
  const layout = { weights: [0, 8], query: [8, 4], key: [12, 4], scores: [16, 8] } as const;
  const whole = inside(page([layout], numbers));
  const trace = await whole.trace({} as never, signal);
  const found = await whole.neurons(trace, site, 0, 1, signal);
  expect(found.contributions).toEqual([[15], [21]]);
  const less = inside(page([{ weights: [0, 8] }], weights));
  await expect(less.neurons(trace, site, 0, 1, signal)).rejects.toThrow("left out");
});
