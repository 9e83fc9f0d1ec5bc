import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Trace } from "../src/state/api";
import { Saying } from "../src/state/saying.svelte";
import { studio } from "../src/state/studio.svelte";

const step = (symbol: string) => ({ symbol, log_probability: -1, given: false, alternatives: [] });
let number = 0;

function traceOf(...symbols: string[]): Trace {
  number += 1;
  return { id: String(number), task: "translate", steps: symbols.map(step) } as unknown as Trace;
}

function said(trace: Trace): Saying {
  let saying!: Saying;
  $effect.root(() => {
    saying = new Saying(() => trace);
  });
  flushSync();
  return saying;
}

function wait(milliseconds: number): void {
  vi.advanceTimersByTime(milliseconds);
  flushSync();
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  studio.select({ row: 0, prefix: [] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("says a new answer once, step by step, and then stands where one was", () => {
  const trace = traceOf("▁le", "▁ch", "at", "</s>");
  const saying = said(trace);
  const heard = [[saying.step, saying.soFar]];
  while (saying.now !== null) {
    wait(180);
    heard.push([saying.step, saying.soFar]);
  }
  expect(heard).toEqual([
    [0, "le"],
    [1, "le ch"],
    [2, "le chat"],
    [3, "le chat"],
    [0, "le chat"],
  ]);
  expect(said(trace).now).toBeNull();
});

it("plays slowly when asked, and stops", () => {
  const saying = said(traceOf("a", "b"));
  saying.stop();
  flushSync();
  saying.toggle();
  flushSync();
  wait(600);
  expect([saying.step, saying.soFar]).toEqual([0, "a"]);
  wait(200);
  expect([saying.step, saying.soFar]).toEqual([1, "a b"]);
  saying.toggle();
  expect(saying.now).toBeNull();
});

it("keeps nobody waiting who came for a step, or wants no motion", () => {
  studio.select({ row: 1 });
  expect(said(traceOf("a", "b")).now).toBeNull();
  studio.select({ row: 0 });
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  expect(said(traceOf("a", "b")).now).toBeNull();
});

it("goes on from what was forced", () => {
  studio.select({ prefix: ["a", "b"], row: 1 });
  expect(said(traceOf("a", "b", "c")).step).toBe(1);
});
