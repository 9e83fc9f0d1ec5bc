// The picture of a lesson: what its numbers look like, drawn from the numbers themselves.

import {
  row,
  trailing,
  shade,
  joined,
  groups,
  turned,
  squashed,
  roads,
  overTime,
  waves,
  surprise,
  hypotheses,
  type Lesson,
  type Stage,
} from "./charts";
import type { Drawing } from "./drawing";
import { grid } from "./lesson";
import { barsDrawing, plotDrawing } from "./plot";

export type { Lesson, Stage } from "./charts";

type Painter = (of: (name: string) => Stage, width: number, lesson: Lesson) => Drawing[];

/** Several stages over the same things, side by side: one group of bars a thing, one bar a stage. */
function beside(
  title: string,
  stages: readonly (readonly [string, Stage])[],
  width: number,
): Drawing {
  return barsDrawing({
    title,
    width,
    groups: stages[0]![1].columns.length ? stages[0]![1].columns : stages[0]![1].rows,
    series: stages.map(([name, stage]) => ({ name, values: row(stage) })),
  });
}

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
        title: "Without scaling, the variance of scores grows with the width",
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
      title: "The same scores, scaled and not scaled",
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
    groups("p - y: the gradient of each word's score", of("gradient"), width),
  ],
  "beam-of-two": (_, __, lesson) => [hypotheses(lesson)],
  "word-vectors": (of, width) => {
    const { value, rows } = of("most alike");
    const pairs = grid(value).map(([pair, cosine]) => [String(pair), Number(cosine)] as const);
    return [
      barsDrawing({
        title: "The two most similar words of each table",
        width,
        groups: pairs.map(([pair], at) => `${rows[at]}: ${pair}`),
        series: [{ name: "cosine", values: pairs.map(([, cosine]) => cosine) }],
      }),
    ];
  },
  "painted-masks": (of, width) => [
    groups("What each word looks at under your mask", of("painted, weights"), width),
  ],
  "word-order": (of, width) => [
    barsDrawing({
      title: "How much the outputs change when words swap positions",
      width,
      groups: ["without positions", "with positions"],
      series: [
        {
          name: "largest difference",
          values: ["difference", "difference with positions"].map((name) => row(of(name))[0]!),
        },
      ],
    }),
  ],
  "two-heads": (_, width, { steps }) => {
    const heads = steps.filter(({ name }) => /^head \d+, weights$/.test(name));
    return [
      barsDrawing({
        title: `What ${heads[0]!.rows[0]} looks at, head by head`,
        width,
        groups: heads[0]!.rows,
        series: heads.map(({ name, value }) => ({
          name: name.replace(", weights", ""),
          values: grid(value)[0]!.map(Number),
        })),
      }),
    ];
  },
  "tape-reading": (of, width) => [
    groups("How much each word reads of the words before it", of("weights"), width),
  ],
  "hard-choice": (of, width) => [
    beside(
      "Each estimate of the gradient: how much it varies, and how far its mean is from the true one",
      [
        ["variance", of("variance")],
        ["distance of the mean", of("distance")],
      ],
      width,
    ),
  ],
  "position-picture": (of, width) => {
    const distance = of("distance");
    const places = distance.columns.map(trailing);
    return [
      plotDrawing({
        title: "How far each position lies from position 0",
        x: "position",
        y: "|p_pos - p_0|",
        width,
        lines: [joined("distance", places, row(distance), "accent")],
      }),
    ];
  },
  "headline-results": (of, width) => [groups("BLEU on newstest2014", of("published"), width)],
  "word-orders": (of, width) => [
    groups("How many pairs of word links to English cross", of("crossings"), width),
  ],
  "picture-attention": (of, width) => [
    turned("Which square of the picture each word looks at", of("weights"), width),
  ],
  "listen-attend-spell": (of, width) => [
    beside(
      "Where this step listens: by content alone, and when it knows where the step before listened",
      [
        ["the step before", of("previous weights")],
        ["by content alone", of("weights by content")],
        ["by content and location", of("weights")],
      ],
      width,
    ),
  ],
  "copy-or-generate": (of, width) => [
    beside(
      "What this step looks at, and what the steps before have covered",
      [
        ["weights", of("weights")],
        ["coverage", of("coverage")],
      ],
      width,
    ),
    groups("The probability of each word, generated or copied", of("probabilities"), width),
  ],
  "summary-word": (of, width) => [
    groups("What the next word of the summary looks at", of("weights"), width),
  ],
  "sentinel-mixture": (of, width) => [
    groups("The sentinel s and the words behind, by their weights", of("weights"), width),
    beside(
      "Each word: what the vocabulary gives it, what pointing gives it, and both together",
      [
        ["generated", of("generated")],
        ["pointed", of("pointed")],
        ["together", of("probabilities")],
      ],
      width,
    ),
  ],
  "position-places": (of, width) => {
    const places = ["without positions", "added to the input", "added in the heads"];
    return [
      barsDrawing({
        title: `What ${of(places[0]!).rows[0]} looks at, by where positions are added`,
        width,
        groups: of(places[0]!).columns,
        series: places.map((name) => ({ name, values: grid(of(name).value)[0]!.map(Number) })),
      }),
    ];
  },
  "one-block": (of, width) => [
    beside(
      "One word on its way through a block",
      [
        ["word", of("word")],
        ["with what attention read", of("sum")],
        ["normed", of("norm")],
        ["out of the block", of("out")],
      ],
      width,
    ),
  ],
  "pointed-tour": (_, width, { steps }) => {
    const pointed = steps.filter(({ name }) => name.startsWith("weights from "));
    return [
      barsDrawing({
        title: "Where each step of the tour points",
        width,
        groups: pointed[0]!.columns,
        series: pointed.map((stage) => ({
          name: stage.name.replace("weights ", ""),
          values: row(stage),
        })),
      }),
    ];
  },
  "tree-in-brackets": (of, width) => [
    groups(
      "Constituents that are right, that were said, and that were wanted",
      of("counts"),
      width,
    ),
  ],
  "narrow-passage": (of, width) => [
    barsDrawing({
      title: "The error of the words before and behind the passage",
      width,
      groups: ["error going in", "error coming out"],
      series: [
        {
          name: "mean squared distance",
          values: ["error going in", "error coming out"].map((name) => row(of(name))[0]!),
        },
      ],
    }),
  ],
  "hidden-word": (of, width) => [
    groups("What the hidden place looks at", of("weights"), width),
    groups("The probability of each word in its place", of("probabilities"), width),
  ],
  "flying-arrows": (of, width) => [groups("What flying looks at", of("weights"), width)],
  "decoder-step": (of, width) => [
    groups("Where the new state looks", of("weights"), width),
    groups("The probability of each next word", of("probabilities"), width),
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
