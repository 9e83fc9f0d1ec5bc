import { expect, it } from "vitest";
import { linesOf, Study } from "../src/state/study.svelte";
import type { StudyLine } from "../src/state/server";

type Found = { readonly said: string };
const tick = () => new Promise((go) => setTimeout(go));

function told() {
  const asked: { wish: unknown; signal: AbortSignal }[] = [];
  let send: (line: StudyLine<Found> | Error) => void = () => undefined;
  const study = new Study<Found>(async function* (wish, signal) {
    asked.push({ wish, signal });
    while (true) {
      const line = await new Promise<StudyLine<Found> | Error>((go) => (send = go));
      if (line instanceof Error) throw line;
      yield line;
      if (line.kind === "found") return;
    }
  });
  const say = async (line: StudyLine<Found> | Error): Promise<void> => {
    send(line);
    await tick();
  };
  return { study, asked, say };
}

it("says how far it is, and keeps what it found while the same is wanted", async () => {
  const { study, asked, say } = told();
  study.want('"one"');
  await tick();
  await say({ kind: "progress", done: 3, total: 8 });
  expect([study.state, study.done, study.total]).toEqual(["loading", 3, 8]);
  await say({ kind: "found", said: "yes" });
  expect([study.state, study.found?.said]).toEqual(["ready", "yes"]);
  study.want('"one"');
  expect(asked).toHaveLength(1);
  study.want('"two"');
  await tick();
  expect(asked.map(({ wish }) => wish)).toEqual(["one", "two"]);
  expect([study.state, study.found]).toEqual(["loading", undefined]);
});

it("stops when somebody cancels, and begins again when asked to", async () => {
  const { study, asked, say } = told();
  study.want('"one"');
  await tick();
  study.cancel();
  expect([study.state, asked[0]!.signal.aborted]).toEqual(["cancelled", true]);
  await say({ kind: "found", said: "late" });
  expect(study.found).toBeUndefined();
  study.retry();
  await tick();
  await say({ kind: "found", said: "now" });
  expect(study.found?.said).toBe("now");
});

it("tells what went wrong, and asks nothing of nobody", async () => {
  const { study, say } = told();
  study.want(null);
  expect(study.state).toBe("idle");
  study.want('"one"');
  await tick();
  await say(new Error("no luck"));
  expect(study.now.state === "error" && study.now.error.what).toBe("no luck");
});

it("reads a sentence a line", () => {
  expect(linesOf(" a b \n\n c ")).toEqual(["a b", "c"]);
  expect(linesOf(" \n ")).toBeUndefined();
});
