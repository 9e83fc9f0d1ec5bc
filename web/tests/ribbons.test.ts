// Numbers beside the weights: which are read together, and what each is said to mean.

import { describe, expect, it } from "vitest";
import { at } from "../src/pure/matrix";
import { bands } from "../src/pure/ribbons";
import { askedText, signs, sourcesOf, spelling } from "../src/pure/text";

describe("ribbons", () => {
  it("shares of sources stand together and first, a row for each source", () => {
    const found = bands([
      { name: "p_gen", axis: "target", values: [0.5, 0.25] },
      { name: "share of en", axis: "target", values: [0.75, 0.1] },
      { name: "share of de", axis: "target", values: [0.25, 0.9] },
      { name: "coverage", axis: "source", values: [0.2, 1.4, 0.4] },
    ]);
    expect(found.map(({ names }) => names)).toEqual([["en", "de"], ["p_gen"], ["coverage"]]);
    expect(found.map(({ axis }) => axis)).toEqual(["target", "target", "source"]);
    expect(at(found[0]!.matrix, 1, 1)).toBeCloseTo(0.9);
    expect(found[1]!.meaning).toContain("copies");
    expect(found.map(({ isShare }) => isShare)).toEqual([true, true, false]);
  });
  it("none are none", () => expect(bands([])).toEqual([]));
});

it("a question of several sources is told apart by their names, any other text is none", () => {
  const question = JSON.stringify({ en: "a dog", picture: { image: "dog.png" } });
  expect(sourcesOf(question)).toEqual([
    ["en", "a dog"],
    ["picture", "dog.png"],
  ]);
  expect(askedText(question)).toBe("en: a dog; picture: dog.png");
  expect(askedText("a dog")).toBe("a dog");
  const lying = JSON.stringify({ en: "one/two", picture: { image: "/home/anna/dog.png" } });
  const kinds = { en: { kind: "tokens" }, picture: { kind: "grid" } };
  expect(askedText(lying, kinds)).toBe("en: one/two; picture: dog.png");
  const sound = { source: { kind: "times" } };
  expect(askedText("C:\\takes\\one.wav", sound)).toBe("one.wav");
  expect(askedText("spell:bano/5", sound)).toBe("spell:bano/5");
  expect(askedText("data:audio/wav;base64,AA/A", sound)).toBe("(sound)");
  expect(sourcesOf("{ not json")).toEqual([]);
  expect(sourcesOf("a dog")).toEqual([]);
});

it("symbols spell a text with marks of word beginnings, or a word each", () => {
  expect(spelling(["▁Le", "▁ch", "at", "</s>"])).toBe("Le chat");
  expect(spelling(["a", "red", "square", "</s>"])).toBe("a red square");
});

it("a language is called by its name, and by its code where nobody says the name", () => {
  expect(signs([">>fr<<"])).toBe(">>fr<< asks for the language fr.");
  expect(signs([">>fr<<"], { fr: "français" })).toBe(">>fr<< asks for français.");
});
