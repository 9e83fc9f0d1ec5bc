import { expect, it } from "vitest";
import {
  chosen,
  controlsOf,
  headRows,
  headsDrawing,
  itemOf,
  NONE,
  reachOf,
  rolesIn,
  shade,
} from "../src/pure/heads";
import type { HeadStudied } from "../src/schema";

function head(number: number, entropy: number | null, ...roles: string[]): HeadStudied {
  return {
    path: "encoder.blocks.0.attention",
    kind: number < 2 ? "encoder-self" : "cross",
    layer: 0,
    keys: "source",
    head: number,
    roles: roles.map((name) => ({ name, value: 0.9 })),
    measures: { entropy },
    random: { entropy: 2 },
    shuffled: { entropy: 1.5 },
  };
}
const heads = [head(0, 1, "previous"), head(1, null), head(2, 3, "first", "nsubj →"), head(3, 0.5)];
const ALL = { measure: "entropy", order: "", role: "", kind: "" } as const;
const numbers = (some: readonly HeadStudied[]): number[] => some.map((one) => one.head);

it("sorts by a measure, and puts what was not counted last either way", () => {
  expect(numbers(chosen(heads, ALL))).toEqual([0, 1, 2, 3]);
  expect(numbers(chosen(heads, { ...ALL, order: "most" }))).toEqual([2, 0, 3, 1]);
  expect(numbers(chosen(heads, { ...ALL, order: "least" }))).toEqual([3, 0, 2, 1]);
});

it("keeps heads of a role, of none, or of a kind of attention", () => {
  expect(numbers(chosen(heads, { ...ALL, role: "nsubj →" }))).toEqual([2]);
  expect(numbers(chosen(heads, { ...ALL, role: NONE }))).toEqual([1, 3]);
  expect(numbers(chosen(heads, { ...ALL, kind: "encoder-self" }))).toEqual([0, 1]);
  expect(rolesIn(heads)).toEqual(["first", "nsubj →", "previous"]);
});

it("shades from the smallest to the largest value, and nothing that was not counted", () => {
  const reach = reachOf(heads, "entropy");
  expect(reach).toEqual([0.5, 3]);
  expect(shade(0.5, reach)?.paper).toBe("rgb(0 34 78)");
  expect(shade(3, reach)?.paper).toBe("rgb(254 232 56)");
  expect(shade(null, reach)).toBeNull();
  expect(shade(1, [1, 1])).not.toBeNull();
});

it("draws a tile for each head, and writes each number beside its two controls", () => {
  const stacks = [{ title: "Encoder", layers: [{ name: "Layer 1", heads }] }];
  const drawn = JSON.stringify(headsDrawing(stacks, { ...ALL, role: "first" }, [0, 3]));
  expect(drawn.match(/"rect"/g)).toHaveLength(4);
  expect(drawn.match(/"opacity":0.25/g)).toHaveLength(3);
  const rows = headRows(heads, ["entropy"], () => "Encoder");
  expect(rows[0]!.slice(5)).toEqual(["entropy", "entropy (random)", "entropy (shuffled)"]);
  expect(rows[1]!.slice(2)).toEqual([1, 1, "previous", 1, 2, 1.5]);
  expect(rows[2]![5]).toBe("");
});

it("calls what a model reads by its name, and leaves out a control that nothing was counted for", () => {
  expect(["image/*", "audio/*", "", undefined].map(itemOf)).toEqual([
    "picture",
    "sound",
    "sentence",
    "sentence",
  ]);
  expect(controlsOf(heads)).toEqual(["random", "shuffled"]);
  const wordless = heads.map((one) => ({ ...one, shuffled: { entropy: null } }));
  expect(controlsOf(wordless)).toEqual(["random"]);
  expect(headRows(wordless, ["entropy"], () => "")[0]).toEqual([
    ...["attention", "path", "layer", "head", "roles"],
    ...["entropy", "entropy (random)"],
  ]);
});
