// The kinds of picture that lessons are drawn as.

import { cividis, css } from "./colour";
import { box, ink, wide, words, type Drawing, type Mark } from "./drawing";
import { short } from "./heat";
import { bend } from "./layout";
import { grid, type Scalar, type Value } from "./lesson";
import { barsDrawing, plotDrawing, TONES, type Line } from "./plot";
import { digits, isolated } from "./text";

export interface Stage {
  readonly name: string;
  readonly value: Value;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
}
export interface Lesson {
  readonly given: readonly Stage[];
  readonly steps: readonly Stage[];
  readonly result: Stage;
}

export function row(stage: Stage): number[] {
  return grid(stage.value).flat().map(Number);
}

export function trailing(name: string): number {
  return Number(/-?[\d.]+$/.exec(name)?.[0] ?? 0);
}

export function shade(at: number, count: number): string {
  return count <= TONES.length ? TONES[at]! : css(cividis(0.15 + (0.7 * at) / (count - 1)));
}

export function joined(
  name: string,
  places: readonly number[],
  numbers: readonly Scalar[],
  tone: string,
): Line {
  return {
    name,
    tone,
    dots: "joined",
    points: places.map((place, at) => [place, Number(numbers[at])] as const),
  };
}

/** One group of bars a row, one bar a column. */
export function groups(title: string, { value, rows, columns }: Stage, width: number): Drawing {
  const table = grid(value);
  if (table.length === 1) {
    const values = table[0]!.map(Number);
    return barsDrawing({ title, groups: columns, series: [{ name: title, values }], width });
  }
  const series = columns.map((name, at) => ({ name, values: table.map((one) => Number(one[at])) }));
  return barsDrawing({ title, groups: rows, series, width });
}

export function turned(title: string, { value, rows, columns }: Stage, width: number): Drawing {
  const series = grid(value).map((one, at) => ({ name: rows[at]!, values: one.map(Number) }));
  return barsDrawing({ title, groups: columns, series, width });
}

/** Sums on the curve of tanh. */
export function squashed(
  sums: readonly number[],
  states: readonly number[],
  width: number,
): Drawing {
  const reach = Math.max(2, ...sums.map((sum) => Math.abs(sum) * 1.1));
  const curve = Array.from({ length: 81 }, (_, at) => {
    const x = -reach + (at / 40) * reach;
    return [x, Math.tanh(x)] as const;
  });
  return plotDrawing({
    title: "tanh keeps every state between -1 and 1",
    width,
    x: "a_t",
    y: "h_t",
    lines: [
      { name: "tanh", tone: "soft", points: curve },
      ...sums.map((sum, at): Line => ({
        name: `neuron ${at + 1}`,
        tone: TONES[at % TONES.length]!,
        dots: "apart",
        points: [[sum, states[at]!]],
      })),
    ],
  });
}

/** The same gradient computed in several ways; the one that is wrong stands out. */
export function roads(
  of: (name: string) => Stage,
  names: readonly string[],
  width: number,
): Drawing {
  const cells = row(of(names[0]!)).length;
  const side = grid(of(names[0]!).value)[0]!.length;
  const entries = Array.from(
    { length: cells },
    (_, at) => `W[${Math.floor(at / side) + 1},${(at % side) + 1}]`,
  );
  const series = names.map((name) => ({ name, values: row(of(name)) }));
  return barsDrawing({ title: "dL/dW_hh computed in five ways", groups: entries, series, width });
}

export function overTime(of: (name: string) => Stage, width: number): Drawing {
  const times = of("delta of h").rows.map(trailing);
  const size = (name: string): number[] =>
    grid(of(name).value).map((one) => Math.hypot(...one.map(Number)));
  return plotDrawing({
    title: "Size of the gradient at each step of the backward pass",
    width,
    x: "t",
    lines: [
      joined("|dL/dh_t|", times, size("delta of h"), "accent"),
      joined("as printed", times, size("delta as printed"), "bad"),
    ],
  });
}

/** Each column of a table of positions as a wave over the positions. */
export function waves({ value, columns }: Stage, width: number): Drawing {
  const MOST = 6;
  const table = grid(value);
  const lines = columns.slice(0, MOST).map((name, at): Line => ({
    name,
    tone: TONES[at % TONES.length]!,
    dashed: name.startsWith("cos"),
    points: table.map((one, position) => [position, Number(one[at])] as const),
  }));
  const title =
    columns.length > MOST
      ? `The first ${MOST} of ${columns.length} waves`
      : "Each column is a wave";
  return plotDrawing({ title, x: "position", width, lines });
}

/** -ln p, with the words of the sentence on it. */
export function surprise({ value, columns }: Stage, width: number): Drawing {
  const losses = grid(value).flat().map(Number);
  const curve = Array.from({ length: 100 }, (_, at) => {
    const p = 0.02 + (at / 99) * 0.98;
    return [p, -Math.log(p)] as const;
  });
  return plotDrawing({
    title: "The more probable the right word, the smaller the loss",
    x: "p of the target",
    y: "-ln p",
    width,
    lines: [
      { name: "-ln p", tone: "soft", points: curve },
      ...losses.map((loss, at): Line => ({
        name: columns[at] ?? "",
        tone: TONES[at % TONES.length]!,
        dots: "apart",
        points: [[Math.exp(-loss), loss]],
      })),
    ],
  });
}

/** Every beginning that the search compared, with the one it grew from. */
export function hypotheses(lesson: Lesson): Drawing {
  const [WIDE, TALL, BOX, HIGH] = [176, 50, 142, 40];
  const steps = lesson.steps.filter((step) => /^step \d+$/.test(step.name));
  const best = String(grid(lesson.result.value)[0]?.[0] ?? "");
  const places = new Map<string, readonly [number, number]>();
  const [edges, nodes]: [Mark[], Mark[]] = [[], []];
  let height = 0;
  steps.forEach((step, column) => {
    grid(step.value).forEach(([text, , total, fate], order) => {
      const whole = String(text);
      const [x, y] = [column * WIDE + 2, order * TALL + 2];
      const wins = best === whole || best.startsWith(`${whole} `);
      const before = places.get(whole.split(" ").slice(0, -1).join(" "));
      const isDropped = fate === "dropped";
      const stroke = ink(wins ? "gold" : isDropped ? "line" : "edge");
      const dash = isDropped ? { "stroke-dasharray": "4 4" } : {};
      if (!isDropped) places.set(whole, [x, y]);
      if (before) {
        const d = bend(before[0] + BOX, before[1] + HIGH / 2, x, y + HIGH / 2);
        const thick = wins ? 3 : 1.5;
        edges.push({
          tag: "path",
          at: { d, fill: "none", stroke, "stroke-width": thick, ...dash },
        });
      }
      const look = { rx: 7, stroke, "stroke-width": wins ? 2 : 1.5, ...dash };
      const word = short(whole.split(" ").at(-1)!, 14);
      const colour = ink(isDropped ? "soft" : "ink");
      nodes.push(
        box(x, y, BOX, HIGH, ink(wins ? "glow" : "sheet"), look),
        words(x + 10, y + HIGH / 2, isolated(word), { size: 14, ink: colour }),
        words(x + BOX - 10, y + HIGH / 2, digits(Number(total)), {
          size: 12,
          anchor: "end",
          ink: colour,
        }),
      );
      height = Math.max(height, y + HIGH + 4);
    });
  });
  const caption = "p of each beginning; gold: best, solid line: kept, dashed: dropped";
  nodes.push(words(0, height + 14, caption, { size: 12, ink: ink("soft") }));
  const width = Math.max(steps.length * WIDE, wide(caption, 12));
  return { width, height: height + 26, marks: [...edges, ...nodes] };
}
