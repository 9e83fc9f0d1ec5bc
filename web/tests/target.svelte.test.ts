import { expect, it } from "vitest";
import type { RunCard } from "../src/state/api";
import type { Trace } from "../src/state/api";
import { languageNote, placeTitle, targetOf } from "../src/state/studio.svelte";

const run: RunCard = {
  name: "many",
  task: "translate",
  parameters: 1,
  summary: "",
  place: "many",
  languages: { en: "English", fr: "French", de: "German" },
  directions: ["en-fr", "en-de", "fr-en", "de-en"],
  live: false,
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
