// The studio's server, asked over HTTP. Every refusal becomes an `ApiError` a person can act on.

import { jsonLines } from "../pure/lines";
import { decode, type Matrix } from "../pure/matrix";
import { Recent } from "../pure/recent";
import type { HeadsStudied, SensesShipped, SensesStudied, TreeAbout } from "../schema";
import {
  ApiError,
  isRenewed,
  shapeOf,
  type About,
  type Engine,
  type LessonCard,
  type Line,
  type Metrics,
  type Neurons,
  type Question,
  type Sample,
  type Trace,
  type Wish,
  type Worked,
} from "./api";

function gone(): ApiError {
  return new ApiError(
    "The studio does not answer.",
    "",
    "Is “regard studio” still running in its terminal? Start it and try again; your text is kept.",
  );
}

function unreadable(path: string): ApiError {
  return new ApiError("The studio's answer could not be read.", path, "Try again.");
}

async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw gone();
  }
  const trace = response.status === 404 && /^api\/trace\/([^/]+)/.exec(path)?.[1];
  // The view asks for the renewed trace; this request's answer is no longer needed, so it never settles.
  if (trace && isRenewed(decodeURIComponent(trace))) return new Promise(() => undefined);
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  return fault(await response.json().catch(() => null), response.status);
}

/** A refusal in the server's words: what is wrong, where, and what to do. */
function fault(found: unknown, status: number): ApiError {
  const said = (typeof found === "object" && found !== null ? found : {}) as Record<
    string,
    unknown
  >;
  const text = (name: string): string => (typeof said[name] === "string" ? said[name] : "");
  const what = text("what") || text("error") || `The studio refused (${status}).`;
  return new ApiError(what, text("where"), text("remedy"), status);
}

async function json<Found>(path: string, options: RequestInit = {}): Promise<Found> {
  const response = await ask(path, options);
  try {
    return (await response.json()) as Found;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreadable(path);
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

/** A trace never changes: going back and forth between views fetches and decodes nothing twice. */
const matrices = new Recent<Matrix>(12_000_000); // cells, four bytes each

/** What a question is sent as: what is left out is as the run's settings have it. */
function body({ run, text, to, beam, prefix }: Question): object {
  return { run, text, beam, ...(to ? { to } : {}), ...(prefix.length ? { prefix } : {}) };
}

/** The name of a fault in a stream, where there is no status. */
const STATUS: Readonly<Record<string, number>> = { TooSlow: 504, Stopping: 503, Unusable: 422 };

/** A line of the stream, its trace with the question that asks for that sentence alone. */
function read(line: unknown, wish: Wish): Line {
  const found = line as Line & { error?: unknown };
  if (found.kind === "failed") {
    return { ...found, error: fault(found, STATUS[String(found.error)] ?? 500) };
  }
  if (found.kind !== "answered") return found;
  const { question, to = "" } = found.trace;
  const { run, beam, prefix } = wish;
  return {
    ...found,
    trace: { ...found.trace, asked: { run, beam, prefix, text: question, to: wish.to || to } },
  };
}

/** A study as it goes on: how many texts have been read, and in the end what was found. */
export type StudyLine<Found> =
  | { readonly kind: "progress"; readonly done: number; readonly total: number }
  | ({ readonly kind: "found" } & Found);

async function* study<Found>(
  path: string,
  wish: unknown,
  signal: AbortSignal,
): AsyncGenerator<StudyLine<Found>> {
  const response = await ask(path, post(wish, signal));
  const failed = (line: { kind?: string; error?: unknown }): ApiError | null =>
    line.kind === "failed" ? fault(line, STATUS[String(line.error)] ?? 500) : null;
  try {
    for await (const line of jsonLines(response.body!)) {
      const error = failed(line as { kind?: string });
      if (error) throw error;
      yield line as StudyLine<Found>;
    }
  } catch (error) {
    if (signal.aborted || error instanceof ApiError) throw error;
    throw error instanceof SyntaxError ? unreadable(path) : gone();
  }
}

export const server: Engine = {
  canAsk: true,
  about: (signal: AbortSignal) => json<About>("api/about", { signal }),
  trace: async (asked: Question, signal: AbortSignal): Promise<Trace> => {
    const found = await json<Omit<Trace, "asked">>("api/trace", post(body(asked), signal));
    return { ...found, asked };
  },
  async *answer(wish: Wish, signal: AbortSignal): AsyncGenerator<Line> {
    const { split } = wish;
    const asked = { ...body(wish), ...(split === undefined ? {} : { split }) };
    const response = await ask("api/answer", post(asked, signal));
    try {
      for await (const line of jsonLines(response.body!)) yield read(line, wish);
    } catch (error) {
      if (signal.aborted) throw error;
      throw error instanceof SyntaxError ? unreadable("api/answer") : gone();
    }
  },
  async weights(trace, site, head, words, signal) {
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
  async thumbnails(trace, signal) {
    const response = await ask(`api/trace/${name(trace.id)}/thumbnails`, { signal });
    return new Uint8Array(await response.arrayBuffer());
  },
  neurons: (trace, site, head, row, signal) =>
    json<Neurons>(`api/trace/${name(trace.id)}/neurons/${site.index}/${head}/${row}`, { signal }),
  tree: (trace, signal) => json<TreeAbout>(`api/trace/${name(trace.id)}/tree`, { signal }),
  exportPath: (trace, kind) => `api/trace/${name(trace.id)}/export.${kind}`,
};

/** What only a studio has: how runs learned, lessons, and a demo to train. */
export const studioApi = {
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
  heads: (wish: unknown, signal: AbortSignal) => study<HeadsStudied>("api/heads", wish, signal),
  senses: (wish: unknown, signal: AbortSignal) => study<SensesStudied>("api/senses", wish, signal),
  shipped: (signal: AbortSignal) =>
    json<SensesShipped>("api/senses", { signal }).then(({ words }) => words),
  demo: (signal: AbortSignal) => json<unknown>("api/demo", post({}, signal)),
};
