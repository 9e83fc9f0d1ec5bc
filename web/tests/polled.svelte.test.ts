import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApiError } from "../src/state/api";
import { polled, type Polled } from "../src/state/polled.svelte";

let said: () => { runs: string[] };
let counted: { asked: number; back: number; changed: number };
let asking: Polled<{ runs: string[] }>;
let close: () => void;

async function after(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  flushSync();
}

beforeEach(async () => {
  vi.useFakeTimers();
  said = () => ({ runs: ["a"] });
  counted = { asked: 0, back: 0, changed: 0 };
  close = $effect.root(() => {
    asking = polled(
      async () => ((counted.asked += 1), said()),
      ({ runs }) => runs.includes("training"),
      () => (counted.back += 1),
    );
    $effect(() => void [asking.found, (counted.changed += 1)]);
  });
  flushSync();
  await after(0);
});
afterEach(() => {
  close();
  vi.useRealTimers();
});

it("finds what was made meanwhile, and leaves alone what has not changed", async () => {
  const before = counted.changed;
  await after(30_000);
  expect(counted.asked).toBe(4);
  expect(counted.changed).toBe(before);
  said = () => ({ runs: ["a", "new"] });
  await after(10_000);
  expect(asking.found?.runs).toEqual(["a", "new"]);
});

it("looks at once when somebody comes back, and often while something trains", async () => {
  said = () => ({ runs: ["training"] });
  window.dispatchEvent(new Event("focus"));
  await after(0);
  expect(asking.found?.runs).toEqual(["training"]);
  const before = counted.asked;
  await after(10_000);
  expect(counted.asked - before).toBe(5);
});

it("keeps what it knows while the server is gone, and notices that it is back", async () => {
  said = () => {
    throw new ApiError("The studio does not answer.");
  };
  await after(10_000);
  expect([asking.isGone, asking.found?.runs, asking.now.state]).toEqual([true, ["a"], "ready"]);
  said = () => ({ runs: ["a"] });
  await after(2_000);
  expect([asking.isGone, counted.back]).toEqual([false, 1]);
});

it("rests while nobody sees the page", async () => {
  const hidden = vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  await after(60_000);
  expect(counted.asked).toBe(1);
  hidden.mockReturnValue("visible");
  document.dispatchEvent(new Event("visibilitychange"));
  await after(0);
  expect(counted.asked).toBe(2);
  hidden.mockRestore();
});
