import { expect, it } from "vitest";
import {
  digits,
  firstWord,
  isMarked,
  isSign,
  label,
  labels,
  percent,
  pieceLabels,
  readable,
  sentence,
  share,
  signs,
  visible,
} from "../src/pure/text";

it("shows what hides: controls by name, no towers of accents", () => {
  expect(visible("a\u202eb\u200bc\n")).toBe("a[RLO]b[ZWSP]c↵");
  expect(visible("\u0007")).toBe("[0007]");
  expect([...visible("a" + "\u0301".repeat(40))].length).toBe(4);
  expect(visible("سلام 你好 é")).toBe("سلام 你好 é");
});

it("keeps the sign that Persian words are spelt with, between their letters and nowhere else", () => {
  expect(visible("می\u200cخواهم")).toBe("می\u200cخواهم");
  expect(visible("می\u200c")).toBe("می[ZWNJ]");
  expect(visible("pay\u200cpal")).toBe("pay[ZWNJ]pal");
});

it("leaves a sentence as it is spelled: joiners stay, what has no shape is named", () => {
  for (const text of [
    "👩\u200d👩\u200d👧 today 😀",
    "می\u200cخواهم",
    "x\u00a0y",
    "\u2067سلام\u2069 a",
  ])
    expect(readable(text)).toBe(text);
  expect(readable("a\u0007b")).toBe("a[0007]b");
  expect([...("a" + readable("a" + "\u0301".repeat(40)))].length).toBe(5);
});

it("names marks of direction that a sentence leaves open, since they would turn what stands around it", () => {
  expect(readable("\u202eabc")).toBe("[RLO]abc");
  expect(readable("a\u2069b")).toBe("a[PDI]b");
  expect(readable("\u2066a\u202c\u2069")).toBe("[LRI]a[PDF][PDI]");
});

it("shows beside an unknown token the word that was typed", () => {
  const axis = {
    pieces: ["<unk>", "cat", "<unk>"],
    word_ids: [0, 1, 2],
    words: ["The", "cat", "<unk>"],
  };
  expect(pieceLabels(axis)).toEqual(["<unk> The", "cat", "<unk>"]);
  expect(signs(pieceLabels(axis))).toContain("<unk> stands for a word");
});

it("words lose their mark, insides of words get a dot", () => {
  expect(labels(["▁un", "forgiv", "▁", "</s>"])).toEqual(["un", "·forgiv", "␣", "</s>"]);
  expect(labels(["a", "b"])).toEqual(["a", "b"]);
  expect(label("", false)).toBe("∅");
  expect(["</s>", ">>fr<<", "<a b>", "cat", ">>"].map(isSign)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

it("begins at the first word, after the signs before it", () => {
  expect(firstWord([">>de<<", "the", "cat"])).toBe(1);
  expect(firstWord(["the", "</s>"])).toBe(0);
  expect(firstWord(["<s>", "<unk>", "cat"])).toBe(1);
  expect(firstWord([">>de<<"])).toBe(0);
  expect(firstWord([])).toBe(0);
});

it("marks the inside of a word alike, wherever its neighbours stand", () => {
  expect(isMarked(["▁Kat", "ze"])).toBe(true);
  expect(isMarked(["K", "a"])).toBe(false);
  expect([label("ze", true), label("▁ze", true), label("ze", false)]).toEqual(["·ze", "ze", "ze"]);
});

it("says what the signs mean that are to be seen, and no others", () => {
  const names = [">>de<<", "The", "·,", "·te", "</s>"];
  expect(signs(names, { de: "German" })).toBe(
    ">>de<< asks for German; </s> marks the end; ·te is a subword that continues the word before it.",
  );
  expect(signs([">>xx<<"])).toBe(">>xx<< asks for the language xx.");
  expect(signs(["<s>", "<unk>", "<0xD8>", "␣"]).split("; ").length).toBe(4);
  expect(signs(["the", "cat", "·", "<b>"])).toBe("");
});

it("makes a sentence of what a program says in passing", () => {
  expect(sentence("ask for less")).toBe("Ask for less.");
  expect(sentence("Try again.")).toBe("Try again.");
  expect(sentence("really?")).toBe("Really?");
  expect(sentence("")).toBe("");
});

it("writes shares and numbers for people", () => {
  expect([1, 0.934, 0.042, 0.0004, 0].map(percent)).toEqual(["100%", "93%", "4.2%", "<0.1%", "0%"]);
  expect([1, 0.25, 1e-5, 0].map(share)).toEqual(["1.000", "0.250", "<0.001", "0.000"]);
  expect(digits(-0.12345)).toBe("−0.123");
  expect(digits(1234567.5)).toBe("1.2e+6");
  expect(digits(Number.NEGATIVE_INFINITY)).toBe("−∞");
  expect(digits(43469.02)).toBe("43469.0");
  expect([12, 1234, -1234567].map((value) => digits(value))).toEqual(["12", "1,234", "−1,234,567"]);
});
