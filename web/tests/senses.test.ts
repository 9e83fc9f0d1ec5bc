import { expect, it } from "vitest";
import {
  classesOf,
  groupOf,
  groupsOf,
  isOnePoint,
  nextDot,
  parted,
  placed,
  sensesDrawing,
  tintsOf,
} from "../src/pure/senses";
import type { SensesStudied } from "../src/schema";

const MAP = [
  [0, 0],
  [2, 0],
  [0, 1],
];
const found: SensesStudied = {
  word: "bank",
  to: "fr",
  static_score: 0.5,
  occurrences: ["money", "river", "money"].map((sense, at) => ({
    text: `👩 bank ${at}`,
    span: [2, 6],
    sense,
    label: at ? "rive" : "Banque",
    static: [0, 0],
  })),
  layers: [{ map: MAP, groups: [0, 1, 1], neighbours: [[[1, 0.5]], [], []], score: 1 }],
};

it("colours by what is known: senses and translations where there are any, groups always", () => {
  expect(tintsOf(found)).toEqual(["sense", "translation", "group"]);
  const bare = found.occurrences.map((one) => ({ ...one, sense: "", label: "" }));
  expect(tintsOf({ ...found, occurrences: bare })).toEqual(["group"]);
  expect(classesOf(found, 0, "sense")).toEqual(["money", "river", "money"]);
  expect(classesOf(found, 0, "translation")).toEqual(["banque", "rive", "rive"]);
  expect(classesOf(found, 0, "group")).toEqual(["group 1", "group 2", "group 2"]);
});

it("gives each class a colour and a shape of its own, and the rarest share the last", () => {
  const names = ["a", "a", "a", "b", "b", "c", "c", "d", "d", "e", "f"];
  const groups = groupsOf(names);
  expect(groups.map(({ name, count }) => [name, count])).toEqual([
    ["a", 3],
    ["b", 2],
    ["c", 2],
    ["d", 2],
    ["others", 2],
  ]);
  expect(new Set(groups.map(({ tone }) => tone)).size).toBe(5);
  expect(new Set(groups.map(({ shape }) => shape)).size).toBe(5);
  expect(groupOf("f", groups).name).toBe("others");
});

it("keeps lengths across and along the same, and one point in the middle", () => {
  const [a, b, c] = placed(MAP, 200, 200, 20);
  expect(b!.x - a!.x).toBeCloseTo(160);
  expect(a!.y - c!.y).toBeCloseTo(80);
  expect(placed([[1, 1]], 200, 100)).toEqual([{ x: 100, y: 50 }]);
  expect(isOnePoint(found.occurrences.map((one) => one.static))).toBe(true);
  expect(isOnePoint(MAP)).toBe(false);
});

it("goes by arrow keys to the dot that lies that way", () => {
  const dots = placed(MAP, 200, 200, 20);
  expect(nextDot("ArrowRight", dots, 0)).toBe(1);
  expect(nextDot("ArrowUp", dots, 0)).toBe(2);
  expect(nextDot("ArrowLeft", dots, 0)).toBe(0);
  expect(nextDot("x", dots, 0)).toBeNull();
});

it("counts letters, not halves of them", () => {
  expect(parted(found.occurrences[0]!)).toEqual(["👩 ", "bank", " 0"]);
  expect(parted({ ...found.occurrences[0]!, span: null })).toEqual(["👩 bank 0", "", ""]);
});

it("draws every occurrence twice: in context, and as a static vector", () => {
  const drawn = JSON.stringify(sensesDrawing(found, 0, "sense"));
  expect(drawn.match(/"path"/g)).toHaveLength(2 * 3 + 2);
  expect(drawn).toContain("money (2)");
});
