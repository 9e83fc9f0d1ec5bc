import { expect, it } from "vitest";
import { closest, unlike, type Kind } from "../src/pure/alike";

const run = (name: string, more: Partial<Kind> = {}): Kind => ({
  name,
  task: "translate",
  languages: {},
  pieces: "word",
  learned: "phrases",
  ...more,
});
const three = { en: "English", de: "German" };

it("takes the run that is most alike, the first of several", () => {
  const demo = run("demo");
  const runs = [
    run("reverse", { learned: "reverse" }),
    run("translator", { languages: three, pieces: "bpe", learned: "train.en" }),
    demo,
    run("tagger", { task: "tag" }),
    run("phrases"),
    run("phrases-2"),
  ];
  expect(closest(demo, runs)?.name).toBe("phrases");
  expect(closest(demo, runs.slice(0, 4))?.name).toBe("reverse");
  expect(closest(demo, [demo, runs[3]!])).toBeUndefined();
});

it("says in what two runs differ", () => {
  expect(unlike(run("a"), run("b"))).toBe("");
  expect(unlike(run("a"), run("b", { learned: "reverse" }))).toBe(
    "These two models were trained on different texts.",
  );
  expect(unlike(run("a"), run("b", { task: "tag", languages: three, pieces: "bpe" }))).toBe(
    "These two models have different tasks, know different languages and split text into tokens differently.",
  );
});
