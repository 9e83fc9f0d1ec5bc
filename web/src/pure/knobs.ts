// What a reader may turn in a lesson: how far each number goes, and which inputs grow and shrink together.

export interface Range {
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** Steps multiply rather than add. */
  readonly logarithmic?: boolean;
}

export type Inputs = Readonly<Record<string, unknown>>;

const COUNTS: Readonly<Record<string, readonly [number, number]>> = {
  width: [1, 64],
  index: [0, 63],
  num_heads: [1, 16],
  key_width: [1, 128],
  value_width: [1, 128],
  samples: [100, 10_000],
  beam_size: [1, 6],
  top_beams: [1, 6],
  seed: [1, 99],
  widths: [1, 256],
  distances: [1, 64],
  order: [0, 8],
};

/** How far a slider goes for a number of this input. */
export function rangeOf(lesson: string, name: string, usual: unknown, inputs: Inputs): Range {
  const length = (key: string): number => (inputs[key] as unknown[] | undefined)?.length ?? 8;
  if (name === "base") return { min: 2, max: 100_000, step: 1, logarithmic: true };
  if (name === "outputs") return { min: 0, max: 1, step: 0.01 };
  if (name === "painted") return { min: 0, max: 1, step: 1 };
  if (name === "sharpness") return { min: 0, max: 64, step: 0.5 };
  if (name === "scales") return { min: 0, max: 2, step: 0.01 };
  if (name === "positions") return { min: 0, max: 20, step: 0.001 };
  if (name === "length" || name === "window") return { min: 0, max: length("words"), step: 1 };
  if (lesson === "position-periods" && name === "width") return { min: 2, max: 100, step: 1 };
  if (lesson === "parameter-count" && name === "width") return { min: 8, max: 1024, step: 8 };
  if (name === "index") return { min: 0, max: Number(inputs["width"] ?? 64) - 1, step: 1 };
  if (name === "top_beams") return { min: 1, max: Number(inputs["beam_size"] ?? 6), step: 1 };
  const [min, max] = COUNTS[name] ?? [0, 0];
  if (max) return { min, max, step: name === "samples" ? 100 : 1 };
  const most = largest(usual);
  const reach = most <= 1 ? 2 : Math.ceil(most * 2);
  return { min: -reach, max: reach, step: 0.01 };
}

function largest(value: unknown): number {
  if (Array.isArray(value)) return Math.max(0, ...value.map(largest));
  return typeof value === "number" ? Math.abs(value) : 0;
}

/** Where a number stands on its slider, from 0 to 1000, and back. */
export function toSlider(value: number, { min, max, logarithmic }: Range): number {
  const of = logarithmic ? Math.log : (number: number): number => number;
  const share = (of(Math.max(value, logarithmic ? min : value)) - of(min)) / (of(max) - of(min));
  return Math.round(Math.min(Math.max(share, 0), 1) * 1000);
}

export function fromSlider(place: number, { min, max, step, logarithmic }: Range): number {
  const share = place / 1000;
  if (logarithmic) return Number((min * (max / min) ** share).toPrecision(3));
  const value = min + Math.round((share * (max - min)) / step) * step;
  return Number(Math.min(value, max).toFixed(6));
}

/** A size that several inputs share: rows (0) or columns (1) of each. */
export interface Size {
  readonly name: string;
  readonly of: readonly (readonly [input: string, axis: 0 | 1])[];
  readonly max: number;
}

const HIDDEN: readonly (readonly [string, 0 | 1])[] = [
  ["hidden", 1],
  ["recurrent_weight", 0],
  ["recurrent_weight", 1],
  ["input_weight", 0],
  ["bias", 1],
  ["output_weight", 1],
];
const PAIR: readonly (readonly [string, 0 | 1])[] = [
  ["query", 1],
  ["keys", 1],
];
const SIZES: Readonly<Record<string, readonly Size[]>> = {
  "rnn-step": [
    {
      name: "input width",
      max: 6,
      of: [
        ["x", 1],
        ["input_weight", 1],
      ],
    },
    { name: "hidden width", max: 6, of: HIDDEN },
  ],
  backpropagation: [
    {
      name: "steps",
      max: 8,
      of: [
        ["inputs", 0],
        ["targets", 1],
      ],
    },
    {
      name: "input width",
      max: 6,
      of: [
        ["inputs", 1],
        ["input_weight", 1],
      ],
    },
    { name: "hidden width", max: 6, of: HIDDEN },
  ],
  "score-functions": [
    { name: "neurons", max: 8, of: PAIR },
    { name: "keys", max: 8, of: [["keys", 0]] },
  ],
  "soft-table": [
    { name: "neurons", max: 8, of: PAIR },
    {
      name: "keys",
      max: 8,
      of: [
        ["keys", 0],
        ["values", 0],
      ],
    },
  ],
  "six-steps": [
    { name: "neurons", max: 64, of: PAIR },
    {
      name: "keys",
      max: 8,
      of: [
        ["keys", 0],
        ["values", 0],
      ],
    },
    { name: "value width", max: 6, of: [["values", 1]] },
  ],
  "painted-masks": [
    {
      name: "number of words",
      max: 16,
      of: [
        ["words", 1],
        ["painted", 0],
        ["painted", 1],
      ],
    },
  ],
  "position-table": [{ name: "positions", max: 64, of: [["words", 1]] }],
  "six-word-loss": [
    {
      name: "steps",
      max: 8,
      of: [
        ["outputs", 0],
        ["targets", 1],
      ],
    },
  ],
  "beam-of-two": [{ name: "steps", max: 8, of: [["outputs", 0]] }],
};

export function sizesOf(lesson: string): readonly Size[] {
  return SIZES[lesson] ?? [];
}

/** How large it is now. */
export function sizeNow(size: Size, inputs: Inputs): number {
  const [input, axis] = size.of[0]!;
  const value = inputs[input] as unknown[];
  return axis === 1 && Array.isArray(value[0]) ? value[0].length : value.length;
}

/** All inputs that share a size, made so large. */
export function withSize(size: Size, count: number, inputs: Inputs): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [input, axis] of size.of) {
    const value = (changed[input] ?? inputs[input]) as unknown[];
    changed[input] =
      axis === 1 && Array.isArray(value[0])
        ? value.map((row) => fitted(row as unknown[], count))
        : fitted(value, count);
  }
  const { length } = inputs;
  if (typeof length === "number" && length > count) changed["length"] = count;
  return changed;
}

/** Shorter, or longer by more of the last; words that are added get numbers. */
function fitted(list: readonly unknown[], count: number): unknown[] {
  return Array.from({ length: count }, (_, at) => {
    if (at < list.length) return list[at];
    return typeof list[0] === "string" && !/^[<]/.test(String(list.at(-1)))
      ? `w${at}`
      : structuredClone(list.at(-1));
  });
}

/** The inputs, with another count of words where a reader wrote more or fewer of them. */
export function withInput(lesson: string, name: string, value: unknown, inputs: Inputs) {
  const size = sizesOf(lesson).find(({ of }) => of[0]![0] === name && of.length > 1);
  const changed = { [name]: value };
  if (name !== "words" || !size || !Array.isArray(value)) return changed;
  return { ...withSize(size, value.length, { ...inputs, words: value }), ...changed };
}

/** Masks to begin a painting with. */
export const PATTERNS: readonly (readonly [string, (i: number, j: number) => boolean])[] = [
  ["all", () => true],
  ["none", () => false],
  ["itself", (i, j) => i === j],
  ["the past", (i, j) => j <= i],
  ["neighbours", (i, j) => Math.abs(i - j) <= 1],
];
