import { flushSync } from "svelte";
import { expect, it } from "vitest";
import { ApiError } from "../src/state/api";
import { asked, type Asking } from "../src/state/asked.svelte";

interface Reply {
  readonly question: string;
  readonly signal: AbortSignal;
  answer(text: string): Promise<void>;
  fail(error: unknown): Promise<void>;
}

function bench(): { ask(question: string | null): void; asking: Asking<string>; replies: Reply[] } {
  let question = $state<string | null>(null);
  const replies: Reply[] = [];
  let asking!: Asking<string>;
  $effect.root(() => {
    asking = asked(
      () => question,
      (wanted, signal) =>
        new Promise<string>((resolve, reject) => {
          const settle = async (): Promise<void> => {
            await Promise.resolve();
            await Promise.resolve();
          };
          replies.push({
            question: wanted,
            signal,
            answer: (text) => (resolve(text), settle()),
            fail: (error) => (reject(error), settle()),
          });
        }),
    );
  });
  flushSync();
  const ask = (wanted: string | null): void => {
    question = wanted;
    flushSync();
  };
  return { ask, asking, replies };
}

it("shows only the answer to the last question, whatever order answers come in", async () => {
  const { ask, asking, replies } = bench();
  ask("slow");
  ask("quick");
  await replies[1]!.answer("quick answer");
  await replies[0]!.answer("slow answer");
  expect(asking.found).toBe("quick answer");
  expect(replies[0]!.signal.aborted).toBe(true);
});

it("keeps the last answer while a new one is on its way, and drops it when that fails", async () => {
  const { ask, asking, replies } = bench();
  ask("one");
  await replies[0]!.answer("first");
  ask("two");
  expect(asking.now.state).toBe("loading");
  expect(asking.found).toBe("first");
  await replies[1]!.fail(new ApiError("too busy", "", "", 429));
  expect(asking.found).toBeUndefined();
  expect(asking.now).toMatchObject({ state: "error", error: { what: "too busy", isBusy: true } });
});

it("asks the same again when told to", async () => {
  const { ask, asking, replies } = bench();
  ask("one");
  await replies[0]!.fail(new TypeError("broken"));
  asking.retry();
  flushSync();
  await replies[1]!.answer("now");
  expect(replies.map((reply) => reply.question)).toEqual(["one", "one"]);
  expect(asking.found).toBe("now");
});

it("asks nothing when there is nothing to ask", () => {
  const { ask, asking, replies } = bench();
  ask("one");
  ask(null);
  expect(asking.now.state).toBe("idle");
  expect(replies[0]!.signal.aborted).toBe(true);
});
