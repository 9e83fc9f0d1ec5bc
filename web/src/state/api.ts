// What the server says, and how it is asked. Every refusal becomes an `ApiError` a person can act on.

import { decode, type Matrix } from "../pure/matrix";
import { Recent } from "../pure/recent";
import type { Expansion } from "../pure/layout";
import type { Value } from "../pure/lesson";

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

async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(
      "The studio does not answer.",
      "",
      "Is “regard studio” still running in its terminal? Start it and try again; your text is kept.",
    );
  }
  const trace = response.status === 404 && /^api\/trace\/([^/]+)/.exec(path)?.[1];
  // Whoever shows this trace asks for it anew; then what waits here is no longer wanted.
  if (trace && [...asks].some((renew) => renew(decodeURIComponent(trace)))) {
    return new Promise(() => undefined);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  const found: unknown = await response.json().catch(() => null);
  const said = (typeof found === "object" && found !== null ? found : {}) as Record<
    string,
    unknown
  >;
  const text = (name: string): string => (typeof said[name] === "string" ? said[name] : "");
  const what = text("what") || text("error") || `The studio refused (${response.status}).`;
  return new ApiError(what, text("where"), text("remedy"), response.status);
}

async function json<Found>(path: string, options: RequestInit = {}): Promise<Found> {
  const response = await ask(path, options);
  try {
    return (await response.json()) as Found;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("The studio's answer could not be read.", path, "Try again.");
  }
}

function post(body: unknown, signal?: AbortSignal): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  };
}

const name = encodeURIComponent;

export interface Question {
  readonly run: string;
  readonly text: string;
  readonly to: string;
  readonly beam: number;
  readonly prefix: readonly string[];
}

/** A trace never changes: going back and forth between views fetches and decodes nothing twice. */
const matrices = new Recent<Matrix>(12_000_000); // cells, four bytes each

export const api = {
  about: (signal: AbortSignal) => json<About>("api/about", { signal }),
  trace: async (asked: Question, signal: AbortSignal): Promise<Trace> => {
    const { run, text, to, beam, prefix } = asked;
    const body = { run, text, beam, ...(to ? { to } : {}), ...(prefix.length ? { prefix } : {}) };
    const found = await json<Omit<Trace, "asked">>("api/trace", post(body, signal));
    return { ...found, asked };
  },
  async weights(
    trace: Trace,
    site: Site,
    head: number | "mean" | readonly number[],
    words: boolean,
    signal: AbortSignal,
  ): Promise<Matrix> {
    const [, rows, columns] = shapeOf(trace, site, words);
    const query = words ? "?words=1" : "";
    const chosen = typeof head === "object" ? head.join("+") : head;
    const path = `api/trace/${name(trace.id)}/weights/${site.index}/${chosen}${query}`;
    const known = matrices.get(path);
    if (known) return known;
    const response = await ask(path, { signal });
    const matrix = decode(await response.arrayBuffer(), rows, columns);
    matrices.keep(path, matrix, rows * columns);
    return matrix;
  },
  async thumbnails(trace: Trace, signal: AbortSignal): Promise<Uint8Array> {
    const response = await ask(`api/trace/${name(trace.id)}/thumbnails`, { signal });
    return new Uint8Array(await response.arrayBuffer());
  },
  neurons: (trace: Trace, site: Site, head: number, row: number, signal: AbortSignal) =>
    json<Neurons>(`api/trace/${name(trace.id)}/neurons/${site.index}/${head}/${row}`, { signal }),
  tree: (trace: Trace, signal: AbortSignal) =>
    json<{ steps: Expansion[][] }>(`api/trace/${name(trace.id)}/tree`, { signal }),
  metrics: (run: string, signal: AbortSignal) =>
    json<{ metrics: readonly Metrics[] }>(`api/runs/${name(run)}/metrics`, { signal }).then(
      ({ metrics }) => metrics,
    ),
  samples: (run: string, signal: AbortSignal) =>
    json<{ samples: readonly Sample[] }>(`api/runs/${name(run)}/samples`, { signal }).then(
      ({ samples }) => samples,
    ),
  /** How many steps a run is planned to train for, if that is said in steps. */
  planned: (run: string, signal: AbortSignal) =>
    json<{ train?: { steps?: number; epochs?: number | null } }>(`api/runs/${name(run)}/settings`, {
      signal,
    }).then(({ train }) => (train?.epochs ? undefined : train?.steps)),
  lessons: (signal: AbortSignal) => json<readonly LessonCard[]>("api/lessons", { signal }),
  lesson: (lesson: string, inputs: unknown, signal: AbortSignal) =>
    json<Worked>(`api/lessons/${name(lesson)}`, post({ inputs }, signal)),
  demo: (signal: AbortSignal) => json<unknown>("api/demo", post({}, signal)),
  exportPath: (trace: Trace, kind: string) => `api/trace/${name(trace.id)}/export.${kind}`,
};

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
