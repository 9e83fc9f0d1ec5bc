import { describe, expect, it } from "vitest";
import {
  change,
  fromHash,
  isStep,
  misread,
  START,
  toHash,
  VIEWS,
  type Selection,
} from "../src/pure/selection";
import { unmet, unread } from "../src/pure/unmet";

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
  smooth: true,
  dropped: false,
  fit: true,
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
    expect(found).toEqual(START);
  });
});

describe("a link that asks for what is not here", () => {
  it("says which parts of it make no sense", () => {
    const hash =
      "#view=nowhere&row=-7&beam=1.5&head=x&column=1e99&nonsense=1&words=maybe&text=fine";
    expect(misread(hash).map(([name]) => name)).toEqual(
      "view row beam head column nonsense words".split(" "),
    );
    expect(unread([["view", "nowhere"]])[0]).toContain("“view=nowhere”");
    expect(misread(toHash(odd))).toEqual([]);
    expect(misread("")).toEqual([]);
  });
  it("says what this studio, model or map lacks", () => {
    const here = {
      run: { name: "many", languages: { de: "German" } },
      runs: ["many"],
      sites: [{ path: "reader.attention" }],
      site: { heads: 8, title: "Cross-attention, layer 3" },
      rows: 4,
      columns: 1,
    };
    const wanted = {
      ...START,
      view: "compare",
      to: "xx",
      otherRun: "gone",
      site: "nowhere",
      head: 8,
      row: 4,
      column: 1,
    } as const;
    const said = unmet(wanted, here);
    expect(said.length).toBe(6);
    expect(said.join(" ")).toContain("head 9. Cross-attention, layer 3 has 8 heads.");
    expect(said.join(" ")).toContain("row 5. There are 4 rows.");
    expect(said.join(" ")).toContain("column 2. There is 1 column.");
    const fine = { ...wanted, to: "de", otherRun: "many", site: "reader.attention", head: 7 };
    expect(unmet({ ...fine, row: 3, column: 0 }, here)).toEqual([]);
    expect(unmet(START, here)).toEqual([]);
    expect(unmet(wanted, {}), "nothing is said before anything is known").toEqual([]);
  });
});

it("another view, question or map is a step to go back from; a cell, a row or a slider is not", () => {
  const steps: Partial<Selection>[] = [
    { view: "lines" },
    { text: "a" },
    { prefix: ["b"] },
    { head: 1 },
    { lesson: "rnn-step" },
  ];
  for (const part of steps) expect(isStep(START, change(START, part))).toBe(true);
  const moves: Partial<Selection>[] = [{ row: 1 }, { column: 2 }, { step: 50 }, { inputs: "{}" }];
  for (const part of moves) expect(isStep(START, change(START, part))).toBe(false);
});

describe("a change", () => {
  it("of the text drops the forced beginning and the cursor", () => {
    const after = change(odd, { text: "new" });
    expect([after.prefix, after.row, after.column]).toEqual([[], null, null]);
    expect(after.site).toBe(odd.site);
  });
  it("of the run drops what only the old run had", () => {
    const after = change(odd, { run: "b" });
    expect([after.site, after.head, after.step]).toEqual(["", "default", -1]);
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
