import { flushSync } from "svelte";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ApiError, isRenewed, use, type Engine, type Line, type Trace } from "../src/state/api";
import { Passage } from "../src/state/passage.svelte";

let heard: { say(line: Line): Promise<void>; end(): Promise<void>; signal: AbortSignal }[];
let asked: unknown[];
let wish = $state<string | null>(null);
let other = $state(0); // what else is selected on the page
let passage: Passage;
let close: () => void;

const trace = (id: string): Trace =>
  ({ id, question: id, answer: { text: `${id}!` }, asked: { text: id } }) as unknown as Trace;
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  flushSync();
};

beforeEach(() => {
  [heard, asked, wish] = [[], [], null];
  use({
    async *answer(_wish, signal) {
      const lines: Line[] = [];
      let [isOver, wake] = [false, (): void => undefined];
      const add = (change: () => void) => () => (change(), wake(), settle());
      heard.push({
        say: (line) => add(() => lines.push(line))(),
        end: add(() => (isOver = true)),
        signal,
      });
      while (!signal.aborted) {
        const line = lines.shift();
        if (line) yield line;
        else if (isOver) return;
        else await new Promise<void>((go) => (wake = go));
      }
    },
    trace: async (question) => (asked.push(question), trace("renewed")),
  } as Partial<Engine> as Engine);
  close = $effect.root(() => {
    passage = new Passage(() => (void other, wish));
  });
});
afterEach(() => close());

async function ask(text: string): Promise<void> {
  wish = JSON.stringify({ text });
  await settle();
}
const PARTS: Line = {
  kind: "parts",
  sentences: 3,
  parts: [
    { text: "17", asked: false },
    { text: "a.", asked: true },
    { text: "b.", asked: true },
  ],
};

it("shows each sentence as it comes", async () => {
  await ask("17 a. b.");
  const now = passage.of(() => 2);
  expect(now.now.state).toBe("loading");
  await heard[0]!.say(PARTS);
  expect([passage.total, passage.answered, passage.at(0)]).toEqual([2, 0, 1]);
  await heard[0]!.say({ kind: "answered", part: 1, trace: trace("a") });
  expect([passage.answered, now.now.state]).toEqual([1, "loading"]);
  expect(passage.of(() => 0).found?.id).toBe("a");
  await heard[0]!.say({ kind: "answered", part: 2, trace: trace("b") });
  expect(now.found?.id).toBe("b");
  expect(passage.state).toBe("loading");
  await heard[0]!.say({ kind: "finished", text: "17 a! b!" });
  expect([passage.state, passage.text]).toEqual(["done", "17 a! b!"]);
});

it("stops the work when it is cancelled, and keeps what has come", async () => {
  await ask("17 a. b.");
  await heard[0]!.say(PARTS);
  await heard[0]!.say({ kind: "answered", part: 1, trace: trace("a") });
  passage.cancel();
  expect(heard[0]!.signal.aborted).toBe(true);
  await heard[0]!.say({ kind: "answered", part: 2, trace: trace("late") });
  expect([passage.state, passage.answered, passage.failed]).toEqual(["cancelled", 1, 0]);
  expect(passage.of(() => 1).found?.id).toBe("a");
  expect(passage.of(() => 2).now).toMatchObject({ error: { what: "You cancelled this." } });
  passage.of(() => 2).retry();
  await settle();
  expect([heard.length, passage.state]).toEqual([2, "loading"]);
});

it("can be cancelled before anything has come", async () => {
  await ask("a");
  passage.cancel();
  expect(passage.of(() => 0).now.state).toBe("error");
});

it("goes on after a sentence that has no answer, and says why it has none", async () => {
  await ask("17 a. b.");
  await heard[0]!.say(PARTS);
  await heard[0]!.say({ kind: "failed", part: 1, error: new ApiError("too long", "", "", 504) });
  await heard[0]!.say({ kind: "answered", part: 2, trace: trace("b") });
  expect(passage.of(() => 1).now).toMatchObject({ state: "error", error: { what: "too long" } });
  expect(passage.of(() => 2).found?.id).toBe("b");
  expect([passage.answered, passage.failed]).toEqual([1, 1]);
});

it("asks once, whatever else is selected meanwhile", async () => {
  await ask("17 a. b.");
  await heard[0]!.say(PARTS);
  other += 1;
  await settle();
  expect([heard.length, heard[0]!.signal.aborted, passage.total]).toEqual([1, false, 2]);
});

it("says that a stream broke off", async () => {
  await ask("a");
  await heard[0]!.end();
  expect(passage.of(() => 0).now).toMatchObject({
    error: { what: "The studio stopped in the middle of the answer." },
  });
});

it("drops what was asked before, but shows it until the next answer is there", async () => {
  await ask("one");
  const now = passage.of(() => 0);
  await heard[0]!.say({ kind: "parts", sentences: 1, parts: [{ text: "one", asked: true }] });
  await heard[0]!.say({ kind: "answered", part: 0, trace: trace("one") });
  await ask("two");
  expect(heard[0]!.signal.aborted).toBe(true);
  expect([now.now.state, now.found?.id]).toEqual(["loading", "one"]);
  wish = null;
  await settle();
  expect([now.now.state, now.found]).toEqual(["idle", undefined]);
});

it("asks anew for one sentence that the server has forgotten", async () => {
  await ask("17 a. b.");
  await heard[0]!.say(PARTS);
  await heard[0]!.say({ kind: "answered", part: 1, trace: trace("a") });
  expect([isRenewed("unknown"), isRenewed("a"), isRenewed("a")]).toEqual([false, true, true]);
  await settle();
  expect(asked).toEqual([{ text: "a" }]);
  expect(passage.of(() => 1).found?.id).toBe("renewed");
});
