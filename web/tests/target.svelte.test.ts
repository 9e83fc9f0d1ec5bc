import { describe, expect, it } from "vitest";
import type { RunCard } from "../src/state/api";
import type { Trace } from "../src/state/api";
import type { Site } from "../src/state/api";
import {
  headsOf,
  headTitle,
  languageNote,
  placeTitle,
  siteTitle,
  prompted,
  targetOf,
} from "../src/state/studio.svelte";

const run: RunCard = {
  name: "many",
  task: "translate",
  parameters: 1,
  summary: "",
  place: "many",
  languages: { en: "English", fr: "French", de: "German" },
  directions: ["en-fr", "en-de", "fr-en", "de-en"],
  live: false,
  ready: true,
};

it("translates into the language chosen, or leaves it to the server", () => {
  expect(targetOf(run, "de")).toBe("de");
  expect(targetOf(run, "")).toBe("");
  expect(targetOf(run, "xx")).toBe("");
  expect(targetOf(run, "toString")).toBe("");
});

it("tells when two languages do not go together", () => {
  const note = (language: string, to: string) => languageNote(run, { language, to } as Trace);
  expect(note("en", "fr")).toBe("");
  expect(note("", "fr")).toBe("");
  expect(note("de", "de")).toBe("This looks like German already.");
  expect(note("fr", "de")).toBe("French to German is not among the pairs it learned.");
  expect(languageNote({ ...run, directions: [] }, { language: "fr", to: "de" } as Trace)).toBe("");
});

it("asks for no language where there is no choice", () => {
  expect(targetOf({ ...run, languages: {} }, "fr")).toBe("");
  expect(targetOf(undefined, "fr")).toBe("");
});

it("names an attention by its path, as a trace names it", () => {
  expect(
    [
      "encoder.blocks.0.attention.attention",
      "reader.blocks.3.attention.attention",
      "reader.blocks.1.cross.attention",
      "reader.pool.attention",
      "reader.attention",
    ].map(placeTitle),
  ).toEqual([
    "Encoder self-attention, layer 1",
    "Decoder self-attention, layer 4",
    "Cross-attention, layer 2",
    "Pooling attention",
    "Decoder attention",
  ]);
});

describe("the heads that are shown", () => {
  const site = { path: "reader.cross", heads: 8 } as Site;
  const trace = { look: "reader.cross", look_heads: [0, 5] } as unknown as Trace;

  it("are by default those that the card names, and else all of them", () => {
    expect(headsOf(trace, site, "default")).toEqual([0, 5]);
    expect(headsOf(trace, { ...site, path: "encoder" }, "default")).toBe("mean");
    expect(headsOf({ ...trace, look_heads: [] }, site, "default")).toBe("mean");
    expect(headsOf(trace, site, "mean")).toBe("mean");
  });
  it("are one where one is chosen, and the only one where there is no other", () => {
    expect(headsOf(trace, site, 3)).toBe(3);
    expect(headsOf(trace, site, 11)).toBe(7);
    expect(headsOf(trace, { ...site, heads: 1 }, "default")).toBe(0);
  });
  it("are said in words", () => {
    expect(headTitle(site, [0, 5])).toBe(", mean of heads 1, 6");
    expect(headTitle(site, "mean")).toBe(", mean of all 8 heads");
    expect(headTitle({ ...site, heads: 1 }, 0)).toBe("");
  });
});

it("tells the text that was typed from what was forced after it", () => {
  const steps = [true, true, true, false].map((given) => ({ given }));
  const trace = (prefix: string[]) => ({ steps, asked: { prefix } }) as unknown as Trace;
  expect(prompted(trace([]))).toBe(3);
  expect(prompted(trace(["a"]))).toBe(2);
});

it("names an attention that is in no stack, that copies, and that reads one of several sources", () => {
  const named = (path: string, kind: string, keys = "source", layer = 0): string =>
    siteTitle({ path, kind, layer, keys });
  expect(named("reader.attention", "cross")).toBe("Decoder attention");
  expect(named("reader.copying", "cross", "source", 4)).toBe("Copying attention");
  expect(named("reader.blocks.1.cross", "cross", "en", 1)).toBe("Cross-attention (en), layer 2");
  expect(named("reader.blocks.1.choice", "choice", "sources", 1)).toBe(
    "Choice between sources, layer 2",
  );
});
