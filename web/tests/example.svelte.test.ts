import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { START } from "../src/pure/selection";
import { use, type About, type RunCard } from "../src/state/api";
import { server } from "../src/state/server";
import { studio } from "../src/state/studio.svelte";

const card = (name: string, more: Partial<RunCard> = {}): RunCard => ({
  name,
  task: "translate",
  parameters: 1,
  summary: "",
  example: `${name} says`,
  place: name,
  live: false,
  ready: true,
  ...more,
});
let about: About;
let close: () => void;

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  flushSync();
}

async function open(runs: readonly RunCard[], hash = ""): Promise<void> {
  about = {
    version: "",
    runs,
    tasks: {},
    toys: [],
    demo: { state: "absent", run: "demo", message: "" },
  };
  location.hash = hash;
  close = $effect.root(() => studio.open());
  flushSync();
  await settle();
}

beforeEach(() => {
  use(server);
  studio.selection = START;
  vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener: () => undefined }));
  vi.stubGlobal("fetch", async (path: string) => ({
    ok: path === "api/about",
    status: path === "api/about" ? 200 : 503,
    json: async () => (path === "api/about" ? about : { what: "later" }),
  }));
});
afterEach(() => {
  close();
  location.hash = "";
  vi.unstubAllGlobals();
});

it("begins with the example of the first run", async () => {
  await open([card("a"), card("b")]);
  expect([studio.selection.text, studio.typed]).toEqual(["a says", "a says"]);
  studio.select({ run: "b" });
  flushSync();
  expect(studio.selection.text).toBe("b says");
});

it("keeps what a link asks for, and the step it points at", async () => {
  await open([card("a")], "#text=mine&row=3");
  expect([studio.selection.text, studio.selection.row]).toEqual(["mine", 3]);
  studio.select({ run: "b" });
  flushSync();
  expect(studio.selection.text).toBe("mine");
});

it("keeps the step of a link that names no text", async () => {
  await open([card("a")], "#row=3");
  expect([studio.selection.text, studio.selection.row]).toEqual(["a says", 3]);
});

it("asks nothing of a run that has no model yet, nor over what is being typed", async () => {
  await open([card("a", { parameters: 0 })]);
  expect(studio.selection.text).toBe("");
  studio.typed = "my own";
  about = { ...about, runs: [card("a")] };
  studio.about.retry();
  flushSync();
  await settle();
  expect([studio.selection.text, studio.typed]).toEqual(["", "my own"]);
});

it("says which run a link asks for where there is no such run, and opens no other in its place", async () => {
  await open([card("a")], "#run=nosuch&text=hello");
  expect([studio.missing, studio.run, studio.trace.now.state]).toEqual([
    "nosuch",
    undefined,
    "idle",
  ]);
  studio.select({ run: "a" });
  flushSync();
  expect([studio.missing, studio.run?.name]).toEqual(["", "a"]);
});

it("Back leads to what was looked at before, and Forward on again", async () => {
  await open([card("a")]);
  const before = history.length;
  studio.select({ view: "lines" });
  studio.select({ row: 2 });
  studio.select({ view: "heat" });
  flushSync();
  expect(history.length).toBe(before + 2);
  const leadsTo = (view: string, row: number | null): Promise<void> =>
    vi.waitFor(() => expect([studio.selection.view, studio.selection.row]).toEqual([view, row]));
  history.back();
  await leadsTo("lines", 2);
  history.back();
  await leadsTo("answer", null);
  history.forward();
  await leadsTo("lines", 2);
});
