// What a page shows, and the engine that it comes from: a server, or the page itself where the trace is inside it.

import type { Value } from "../pure/lesson";
import type { Matrix } from "../pure/matrix";
import type { About, Neurons, Site, TraceAbout, TreeAbout } from "../schema";

export type {
  About,
  Alternative,
  Answer,
  Axis,
  Lesson as LessonCard,
  Neurons,
  RunCard,
  Site,
  Step,
  TaskAbout,
} from "../schema";

export interface Trace extends TraceAbout {
  /** The question that it answers, as the page put it. */
  readonly asked: Question;
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
      this.status >= 400 &&
      this.status < 500 &&
      ![401, 404, 408, 409, 429, 499].includes(this.status)
    );
  }

  /** Whether somebody on this page did not want it any more. */
  get isCancelled(): boolean {
    return this.status === 499;
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
  tree(trace: Trace, signal: AbortSignal): Promise<TreeAbout>;
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
