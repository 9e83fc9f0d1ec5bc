import { describe, expect, it } from "vitest";
import { change, fromHash, START, toHash, VIEWS, type Selection } from "../src/pure/selection";

const odd: Selection = {
  ...START,
  view: "compare",
  run: "my run/ä&=#",
  text: 'a "quoted" <script> & 50% #hash = + سلام \u202e',
  beam: 7,
  prefix: ["▁le", "&", "▁chat"],
  site: "reader.blocks.1.cross",
  head: 3,
  row: 11,
  column: 13,
  words: true,
  table: true,
  dropped: false,
  otherRun: "other",
  otherText: "x y",
  otherSite: "encoder.blocks.0",
  otherHead: 0,
  step: 150,
  probe: 2,
  lesson: "rnn-step",
  inputs: '{"x":[1,2]}',
};

describe("the address", () => {
  it("brings back the exact state, whatever the text", () => {
    expect(fromHash(toHash(odd))).toEqual(odd);
    for (const view of VIEWS) expect(fromHash(toHash({ ...START, view })).view).toBe(view);
  });
  it("holds the longest text that a server reads, in any script", () => {
    const text = "你好 мир ".repeat(2500);
    expect(fromHash(toHash({ ...START, text, row: 7 }))).toEqual({ ...START, text, row: 7 });
  });
  it("tells the first query, once chosen, from none chosen yet", () => {
    expect(toHash({ ...START, row: 0, column: 0 })).toBe("#row=0&column=0");
    expect(fromHash("#row=0&column=0")).toEqual({ ...START, row: 0, column: 0 });
  });
  it("is empty at the start", () => {
    expect(toHash(START)).toBe("");
    expect(fromHash("")).toEqual(START);
  });
  it("leaves what makes no sense as at the start", () => {
    const found = fromHash("#view=nowhere&row=-7&beam=1.5&head=x&column=1e99&nonsense=1");
    expect(found).toEqual({ ...START, head: 0 });
  });
});

describe("a change", () => {
  it("of the text drops the forced beginning and the cursor", () => {
    const after = change(odd, { text: "new" });
    expect([after.prefix, after.row, after.column]).toEqual([[], null, null]);
    expect(after.site).toBe(odd.site);
  });
  it("of the run drops what only the old run had", () => {
    const after = change(odd, { run: "b" });
    expect([after.site, after.head, after.step]).toEqual(["", "mean", -1]);
    expect(after.text).toBe(odd.text);
  });
  it("keeps what comes with it", () => {
    expect(change(odd, { text: "new", prefix: ["a"], row: 1 })).toMatchObject({
      prefix: ["a"],
      row: 1,
    });
    expect(change(odd, { site: "other", head: 2 }).head).toBe(2);
  });
  it("of the view changes nothing else", () => {
    expect(change(odd, { view: "lines" })).toEqual({ ...odd, view: "lines" });
  });
});
