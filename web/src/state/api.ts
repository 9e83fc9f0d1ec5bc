// What a page shows, and the engine that it comes from: a server, or the page itself where the trace is inside it.

import type { Expansion } from "../pure/layout";
import type { Value } from "../pure/lesson";
import type { Matrix } from "../pure/matrix";

export interface RunCard {
  readonly name: string;
  readonly task: string;
  readonly parameters: number;
  readonly summary: string;
  /** Of the model's card, one for each direction; of a run without a card, of its best evaluation. */
  readonly scores?: readonly {
    readonly name: string;
    readonly value: number | null;
    readonly test: string;
    readonly direction: string;
  }[];
  /** A text to begin with. */
  readonly example?: string;
  /** Languages by code that it can be asked to translate into. */
  readonly languages?: Readonly<Record<string, string>>;
  /** The pairs of languages that it learned, as en-fr; none: not told. */
  readonly directions?: readonly string[];
  /** How it cuts text: bpe, word and so on. */
  readonly pieces?: string;
  /** The built-in data or the files that it learned from. */
  readonly learned?: string;
  /** What Python loads it by. */
  readonly place: string;
  readonly live: boolean;
  /** Whether there is a model to ask; not yet, while its training begins. */
  readonly ready?: boolean;
}

export interface Toy {
  readonly name: string;
  readonly title: string;
  readonly story: string;
  readonly task: string;
}

export interface About {
  readonly version: string;
  readonly runs: readonly RunCard[];
  readonly toys: readonly Toy[];
  readonly demo: {
    readonly state: "absent" | "running" | "done" | "failed";
    readonly run: string;
    readonly message: string;
  };
}

export interface Axis {
  readonly pieces: readonly string[];
  readonly word_ids: readonly (number | null)[];
  readonly words: readonly string[];
}

export interface Site {
  readonly index: number;
  readonly path: string;
  readonly kind: string;
  readonly layer: number;
  readonly queries: string;
  readonly keys: string;
  readonly heads: number;
  readonly score: string;
  readonly normaliser: string;
  readonly shape: readonly [number, number, number];
  readonly width: number;
  readonly combine: string;
  readonly scale: number;
  /** Of each head: the mean, over queries, of its largest weight. */
  readonly sharpness: readonly number[];
}

export interface Alternative {
  readonly symbol: string;
  readonly id: number;
  readonly log_probability: number | null;
}

export interface Step {
  readonly symbol: string;
  readonly log_probability: number | null;
  /** Whether it was forced rather than chosen. */
  readonly given: boolean;
  readonly alternatives: readonly Alternative[];
}

export interface Answer {
  readonly text: string;
  readonly score: number;
  readonly symbols: readonly string[];
  readonly log_probabilities: readonly number[];
  readonly finish: string;
  readonly alternatives?: readonly unknown[];
}

export interface Trace {
  /** The question that it answers, as the page put it. */
  readonly asked: Question;
  readonly id: string;
  readonly task: string;
  readonly question: string;
  readonly answer: Answer;
  readonly steps: readonly Step[];
  readonly axes: Readonly<Record<string, Axis>>;
  readonly sites: readonly Site[];
  /** The path of the site that best shows where the answer comes from. */
  readonly look?: string;
  /** Its heads to take the mean of; none: of all. */
  readonly look_heads?: readonly number[];
  /** The languages of question and answer, where the model knows several. */
  readonly language?: string;
  readonly to?: string;
  readonly has_tree: boolean;
}

export interface Neurons {
  readonly query: readonly number[];
  readonly keys: readonly (readonly number[])[];
  readonly contributions: readonly (readonly number[])[];
  /** What the model adds for the distance alone. */
  readonly bias: readonly number[] | null;
  /** Nothing where the query could not look. */
  readonly scores: readonly (number | null)[];
  readonly weights: readonly number[];
  /** The places of the keys shown: the heaviest, where there are many. */
  readonly places: readonly number[];
  readonly total: number;
  readonly capped: boolean;
}

export interface Metrics {
  readonly kind: string;
  readonly step: number;
  readonly loss?: number;
  readonly metrics?: readonly { readonly name: string; readonly value: number }[];
}

export interface SampleSite {
  readonly path: string;
  readonly queries: string;
  readonly keys: string;
  readonly shape: readonly [number, number, number];
  readonly weights: string;
}

export interface Sample {
  readonly step: number;
  readonly question: string;
  readonly answer: string;
  readonly axes: Readonly<Record<string, readonly string[]>>;
  readonly sites: readonly SampleSite[];
}

export interface LessonCard {
  readonly name: string;
  readonly title: string;
  readonly lectures: readonly string[];
  readonly about?: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

export interface LessonStep {
  readonly name: string;
  readonly formula: string;
  readonly value: Value;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly note: string;
}

export interface Slip {
  readonly lecture: string;
  readonly step: string;
  readonly printed: Value;
  readonly right: Value;
  readonly why: string;
}

export interface Worked {
  readonly formula: string;
  readonly given: readonly LessonStep[];
  readonly steps: readonly LessonStep[];
  readonly result: LessonStep;
  readonly slips: readonly Slip[];
}

/** What went wrong, in the words of the server or of the page. */
export class ApiError extends Error {
  constructor(
    readonly what: string,
    readonly where = "",
    readonly remedy = "",
    readonly status = 0,
  ) {
    super(what);
    this.name = "ApiError";
  }

  /** Whether asking again soon is likely to help. */
  get isBusy(): boolean {
    return [429, 503, 504].includes(this.status);
  }

  /** Whether the same question, asked again, will be refused again: it is the question that must change. */
  get isFinal(): boolean {
    return (
      this.status >= 400 && this.status < 500 && ![401, 404, 408, 409, 429].includes(this.status)
    );
  }
}

/** Who is told that the server has forgotten a trace, and whether they see to it. */
const asks = new Set<(id: string) => boolean>();

export function onForgotten(renew: (id: string) => boolean): () => void {
  asks.add(renew);
  return () => asks.delete(renew);
}

/** Whether somebody asks for a forgotten trace anew. */
export function isRenewed(id: string): boolean {
  return [...asks].some((renew) => renew(id));
}

export interface Question {
  readonly run: string;
  readonly text: string;
  readonly to: string;
  readonly beam: number;
  readonly prefix: readonly string[];
}

/** A question to be answered sentence by sentence, or as one text; `split` left out is left to the model. */
export interface Wish extends Question {
  readonly split?: boolean;
}

/** What comes of it, as it comes: the sentences, then an answer or a fault for each, then all of it. */
export type Line =
  | {
      readonly kind: "parts";
      readonly parts: readonly { readonly text: string; readonly asked: boolean }[];
      /** How many sentences the text has, however it is read. */
      readonly sentences: number;
    }
  | { readonly kind: "answered"; readonly part: number; readonly trace: Trace }
  | { readonly kind: "failed"; readonly part: number; readonly error: ApiError }
  | { readonly kind: "finished"; readonly text: string };

export interface Engine {
  /** Whether texts can be typed, symbols forced and runs chosen; a page that stands alone has its answers inside. */
  readonly canAsk: boolean;
  about(signal: AbortSignal): Promise<About>;
  answer(wish: Wish, signal: AbortSignal): AsyncIterable<Line>;
  trace(asked: Question, signal: AbortSignal): Promise<Trace>;
  weights(
    trace: Trace,
    site: Site,
    head: number | "mean" | readonly number[],
    words: boolean,
    signal: AbortSignal,
  ): Promise<Matrix>;
  /** 32 x 32 shades of each head, sites and heads in order: to look at, not to read. */
  thumbnails(trace: Trace, signal: AbortSignal): Promise<Uint8Array>;
  neurons(
    trace: Trace,
    site: Site,
    head: number,
    row: number,
    signal: AbortSignal,
  ): Promise<Neurons>;
  tree(trace: Trace, signal: AbortSignal): Promise<{ readonly steps: Expansion[][] }>;
  /** Where a file of the whole trace can be fetched; nothing where this page is that file. */
  exportPath(trace: Trace, kind: string): string | undefined;
}

/** The engine of this page, chosen once, before anything is shown. */
export let api: Engine;

export function use(engine: Engine): void {
  api = engine;
}

/** Heads, rows and columns of a site, by pieces or by words. */
export function shapeOf(
  trace: Trace,
  site: Site,
  words: boolean,
): readonly [number, number, number] {
  if (!words) return site.shape;
  const count = (axis: string, pieces: number): number => trace.axes[axis]?.words.length ?? pieces;
  return [site.heads, count(site.queries, site.shape[1]), count(site.keys, site.shape[2])];
}
