import { expect, it } from "vitest";
import type { RunCard } from "../src/state/api";
import { targetOf } from "../src/state/studio.svelte";

const run: RunCard = {
  name: "many",
  task: "translate",
  parameters: 1,
  summary: "",
  languages: { en: "English", fr: "French", de: "German" },
  live: false,
};

it("translates into the language chosen, or the first but English", () => {
  expect(targetOf(run, "de")).toBe("de");
  expect(targetOf(run, "")).toBe("fr");
  expect(targetOf(run, "xx")).toBe("fr");
});

it("asks for no language where there is no choice", () => {
  expect(targetOf({ ...run, languages: {} }, "fr")).toBe("");
  expect(targetOf(undefined, "fr")).toBe("");
});
