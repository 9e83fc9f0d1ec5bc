import { describe, expect, it } from "vitest";
import { svgOf, type Drawing, type Mark } from "../src/pure/drawing";
import { pictures, type Lesson } from "../src/pure/picture";
import { barsDrawing, nearest, plotDrawing } from "../src/pure/plot";

const flat = (drawing: Drawing): Mark[] =>
  drawing.marks.flatMap((one) => [one, ...(one.inside ?? [])]);
const told = (drawing: Drawing): string =>
  flat(drawing)
    .map(({ text }) => text ?? "")
    .join("\n");

describe("a plot", () => {
  const lines = [
    {
      name: "a",
      tone: "accent",
      points: [
        [1, 1],
        [10, 100],
        [100, Number.NaN],
      ] as const,
    },
  ];
  it("leaves out what has no place and names what is there", () => {
    const drawing = plotDrawing({ title: "t", x: "step", y: "loss", lines });
    expect(told(drawing)).toContain("t (loss)");
    expect(told(drawing)).toContain("step");
    expect(svgOf(drawing, {})).not.toContain("NaN");
  });
  it("counts by powers where it is told to", () => {
    expect(told(plotDrawing({ title: "", lines, logarithmic: "both" })).split("\n")).toEqual(
      expect.arrayContaining(["1", "10", "100"]),
    );
  });
  it("grows downwards when its title needs more lines", () => {
    const title = "a title of very many words that cannot stand in one line";
    const [narrow, broad] = [300, 900].map((width) => plotDrawing({ title, lines, width }));
    expect(narrow!.height).toBeGreaterThan(broad!.height);
  });
});

it("an axis goes beyond its curve, not the curve beyond its axis", () => {
  for (const high of [98.7, 0.93, 7.4, 1234, 100]) {
    const points = [
      [0, 0.4 * high],
      [50, high],
    ] as const;
    const line = { name: "BLEU", tone: "gold", points };
    const drawing = plotDrawing({ title: "Score", x: "step", lines: [line] });
    const heights = flat(drawing)
      .filter(({ tag, at }) => tag === "text" && at["text-anchor"] === "end")
      .map(({ at }) => Number(at["y"]));
    expect(Math.min(...heights), String(high)).toBeLessThanOrEqual(drawing.frame.y(high) + 1e-9);
  }
});

it("an axis goes as far as is planned, and no label is small", () => {
  const line = { name: "a", tone: "gold", points: [[50, 2] as const, [100, 1] as const] };
  const drawing = plotDrawing({ title: "Loss", x: "step", until: 600, lines: [line] });
  expect(told(drawing).split("\n")).toContain("600");
  expect(drawing.frame.x(600)).toBeCloseTo(drawing.frame.right);
  const sizes = flat(drawing).flatMap(({ at }) =>
    at["font-size"] ? [Number(at["font-size"])] : [],
  );
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(14);
});

it("reads the value nearest to a place", () => {
  const line = {
    name: "a",
    tone: "gold",
    points: [
      [0, 2],
      [100, 1],
      [200, 0.5],
    ] as const,
  };
  const { frame } = plotDrawing({ title: "", lines: [line, { ...line, name: "b", points: [] }] });
  const [found, ...others] = nearest([line, { ...line, points: [] }], frame, frame.x(130));
  expect([found!.point, others]).toEqual([[100, 1], []]);
});

it("bars stand on a common line, below it where they are negative", () => {
  const drawing = barsDrawing({
    title: "",
    groups: ["x", "y"],
    series: [{ name: "s", values: [1, -1] }],
  });
  const [up, down] = drawing.marks.filter(({ tag }) => tag === "rect").map(({ at }) => at);
  expect(Number(up!["y"]) + Number(up!["height"])).toBeCloseTo(Number(down!["y"]));
});

describe("the picture of a lesson", () => {
  const stage = (
    name: string,
    value: Lesson["result"]["value"],
    rows: string[],
    columns: string[],
  ) => ({
    name,
    value,
    rows,
    columns,
  });
  it("grows every beginning of a search from the one before it", () => {
    const lesson: Lesson = {
      given: [],
      steps: [
        stage(
          "step 1",
          [
            ["I", 0.9, 0.9, "kept"],
            ["a", 0.1, 0.1, "dropped"],
          ],
          [],
          [],
        ),
        stage(
          "step 2",
          [
            ["I am", 0.8, 0.72, "ended"],
            ["I a", 0.2, 0.18, "dropped"],
          ],
          [],
          [],
        ),
      ],
      result: stage("hypotheses", [["I am", 0.72, -0.3]], [], []),
    };
    const [drawing] = pictures("beam-of-two", lesson);
    expect(drawing!.marks.filter(({ tag }) => tag === "path").length).toBe(2);
    expect(drawing!.marks.filter(({ at }) => at["fill"] === "var(--glow)").length).toBe(2);
  });
  it("is nothing where the tables say it all", () => {
    expect(pictures("no-such", { given: [], steps: [], result: stage("r", 1, [], []) })).toEqual(
      [],
    );
  });
});

it("a bar's name takes a second line rather than lose its end", () => {
  const bars = (width: number) =>
    barsDrawing({
      title: "Alike",
      groups: ["embedding (L2): dog, cat", "five cells (L3): ate, mouse"],
      series: [{ name: "cosine", values: [1, 0.7] }],
      width,
    });
  const [narrow, broad] = [bars(240), bars(760)];
  const said = (drawing: Drawing) => told(drawing).replace(/[\u2068\u2069]/g, "");
  for (const drawing of [narrow, broad]) expect(said(drawing)).not.toContain("…");
  expect(said(broad)).toContain("five cells (L3): ate, mouse");
  expect(narrow.height).toBeGreaterThan(broad.height);
});

it("ticks have no more digits than they need", () => {
  const drawing = plotDrawing({
    title: "Loss",
    x: "step",
    lines: [
      {
        name: "",
        tone: "gold",
        points: [
          [0, 0],
          [40, 1.5],
        ],
      },
    ],
  });
  expect(told(drawing).split("\n")).toContain("0.5");
  expect(told(drawing)).not.toContain("0.50");
});
