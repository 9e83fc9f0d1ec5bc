import { expect, test } from "vitest";
import { Recent } from "../src/pure/recent";

test("what was used last stays, what is oldest goes", () => {
  const kept = new Recent<string>(10);
  kept.keep("a", "first", 4);
  kept.keep("b", "second", 4);
  expect(kept.get("a")).toBe("first");
  kept.keep("c", "third", 4);
  expect(["a", "b", "c"].map((name) => kept.get(name))).toEqual(["first", undefined, "third"]);
});

test("one of the same name takes its place, and what is too large is not kept", () => {
  const kept = new Recent<number>(10);
  kept.keep("a", 1, 9);
  kept.keep("a", 2, 9);
  expect(kept.get("a")).toBe(2);
  kept.keep("b", 3, 11);
  expect(kept.get("b")).toBeUndefined();
});
