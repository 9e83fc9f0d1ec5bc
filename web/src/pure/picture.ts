// The picture of a lesson: what its numbers look like, drawn from the numbers themselves.

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

type Painter = (of: (name: string) => Stage, width: number, lesson: Lesson) => Drawing[];

const PAINTERS: Readonly<Record<string, Painter>> = {
  "rnn-step": (of, width) => [squashed(row(of("sum")), row(of("hidden state")), width)],
  backpropagation: (of, width) => [
    roads(of, ["by autograd", "by delta of h", "by delta of a", "by nudging", "as printed"], width),
    overTime(of, width),
  ],
  "fading-gradient": (of, width) => {
    const { value, rows, columns } = of("what is left");
    return [
      plotDrawing({
        title: "What is left of a gradient",
        x: "steps back",
        logarithmic: "y",
        width,
        lines: grid(value).map((numbers, at) =>
          joined(rows[at]!, columns.map(trailing), numbers, shade(at, rows.length)),
        ),
      }),
    ];
  },
  "score-functions": (of, width) => [groups("Where each score looks", of("weights"), width)],
  "soft-table": (of, width) => [
    turned("The softer, the more keys are read", of("soft weights"), width),
  ],
  "position-table": (of, width) => [waves(of("interleaved"), width)],
  "position-periods": (of, width) => {
    const { value, rows, columns } = of("by width");
    return [
      plotDrawing({
        title: "Periods grow along a vector, and faster in a narrow one",
        x: "pair i",
        y: "positions until the wave repeats",
        width,
        lines: grid(value).map((numbers, at) =>
          joined(rows[at]!, columns.map(trailing), numbers, shade(at, rows.length)),
        ),
      }),
    ];
  },
  "score-variance": (of, width) => {
    const widths = of("variance").columns.map(trailing);
    return [
      plotDrawing({
        title: "Undivided scores spread as vectors widen",
        x: "d_k",
        y: "variance",
        logarithmic: "both",
        width,
        lines: [
          { name: "d_k", tone: "soft", dashed: true, points: widths.map((d) => [d, d] as const) },
          joined("q . k", widths, row(of("variance")), "bad"),
          joined("q . k / sqrt(d_k)", widths, row(of("scaled")), "accent"),
        ],
      }),
    ];
  },
  "six-steps": (of, width) => [
    barsDrawing({
      title: "The same scores, divided and not",
      width,
      groups: of("softmax").columns,
      series: [
        { name: "softmax(score / sqrt(d_k))", values: row(of("softmax")) },
        { name: "softmax(score)", values: row(of("undivided")) },
      ],
    }),
  ],
  "six-word-loss": (of, width) => [
    surprise(of("cross-entropy"), width),
    groups("p - y: what each word is pushed by", of("gradient"), width),
  ],
  "beam-of-two": (_, __, lesson) => [hypotheses(lesson)],
  "flying-arrows": (of, width) => [groups("What flying looks at", of("weights"), width)],
  "decoder-step": (of, width) => [
    groups("Where the new state looks", of("weights"), width),
    groups("What it would say", of("probabilities"), width),
  ],
  "parameter-count": (of, width) => [
    barsDrawing({
      title: "Where the parameters are",
      width,
      groups: ["one head", "all heads", "output projection", "parameters"],
      series: [
        {
          name: "parameters",
          values: ["one head", "all heads", "output projection", "parameters"].map(
            (name) => row(of(name))[0]!,
          ),
        },
      ],
    }),
  ],
};

/** What there is to see of a lesson; nothing where its tables say it all. */
export function pictures(name: string, lesson: Lesson, width = 760): Drawing[] {
  const stages = [...lesson.given, ...lesson.steps, lesson.result];
  const of = (wanted: string): Stage => stages.findLast((stage) => stage.name === wanted)!;
  return PAINTERS[name]?.(of, width, lesson) ?? [];
}

function row(stage: Stage): number[] {
  return grid(stage.value).flat().map(Number);
}

function trailing(name: string): number {
  return Number(/-?[\d.]+$/.exec(name)?.[0] ?? 0);
}

function shade(at: number, count: number): string {
  return count <= TONES.length ? TONES[at]! : css(cividis(0.15 + (0.7 * at) / (count - 1)));
}

function joined(
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
function groups(title: string, { value, rows, columns }: Stage, width: number): Drawing {
  const table = grid(value);
  if (table.length === 1) {
    const values = table[0]!.map(Number);
    return barsDrawing({ title, groups: columns, series: [{ name: title, values }], width });
  }
  const series = columns.map((name, at) => ({ name, values: table.map((one) => Number(one[at])) }));
  return barsDrawing({ title, groups: rows, series, width });
}

function turned(title: string, { value, rows, columns }: Stage, width: number): Drawing {
  const series = grid(value).map((one, at) => ({ name: rows[at]!, values: one.map(Number) }));
  return barsDrawing({ title, groups: columns, series, width });
}

/** Sums on the curve of tanh. */
function squashed(sums: readonly number[], states: readonly number[], width: number): Drawing {
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

/** The same gradient by several roads; the one that is wrong stands out. */
function roads(of: (name: string) => Stage, names: readonly string[], width: number): Drawing {
  const cells = row(of(names[0]!)).length;
  const side = grid(of(names[0]!).value)[0]!.length;
  const entries = Array.from(
    { length: cells },
    (_, at) => `W[${Math.floor(at / side) + 1},${(at % side) + 1}]`,
  );
  const series = names.map((name) => ({ name, values: row(of(name)) }));
  return barsDrawing({ title: "dL/dW_hh by five roads", groups: entries, series, width });
}

function overTime(of: (name: string) => Stage, width: number): Drawing {
  const times = of("delta of h").rows.map(trailing);
  const size = (name: string): number[] =>
    grid(of(name).value).map((one) => Math.hypot(...one.map(Number)));
  return plotDrawing({
    title: "How much reaches each step on the way back",
    width,
    x: "t",
    lines: [
      joined("|dL/dh_t|", times, size("delta of h"), "accent"),
      joined("as printed", times, size("delta as printed"), "bad"),
    ],
  });
}

/** Each column of a table of positions as a wave over the positions. */
function waves({ value, columns }: Stage, width: number): Drawing {
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
function surprise({ value, columns }: Stage, width: number): Drawing {
  const losses = grid(value).flat().map(Number);
  const curve = Array.from({ length: 100 }, (_, at) => {
    const p = 0.02 + (at / 99) * 0.98;
    return [p, -Math.log(p)] as const;
  });
  return plotDrawing({
    title: "The surer of the right word, the smaller the loss",
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
function hypotheses(lesson: Lesson): Drawing {
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
  const caption = "p of each beginning; gold: won, whole line: kept, dashed: dropped";
  nodes.push(words(0, height + 14, caption, { size: 12, ink: ink("soft") }));
  const width = Math.max(steps.length * WIDE, wide(caption, 12));
  return { width, height: height + 26, marks: [...edges, ...nodes] };
}
