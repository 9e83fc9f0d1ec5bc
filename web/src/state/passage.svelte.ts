// A text being answered, sentence by sentence: what has come so far, which sentence is looked at, and a way to stop.

import { untrack } from "svelte";
import { api, ApiError, onForgotten, type Trace, type Wish } from "./api";
import { known, type Asked, type Asking } from "./asked.svelte";

export interface Sentence {
  readonly text: string;
  /** Whether the model is asked; a number, an address or another script stands as it is. */
  readonly asked: boolean;
  readonly trace?: Trace;
  readonly error?: ApiError;
}

const CANCELLED = new ApiError("You cancelled this.", "", "Ask again to have it answered.", 499);
const RENEWED = 10_000; // milliseconds after which a trace that was asked for anew may be lost again

export class Passage {
  sentences = $state.raw<readonly Sentence[]>([]);
  /** How many sentences the text has, however it is read. */
  count = $state(1);
  state = $state<"idle" | "loading" | "done" | "cancelled" | "error">("idle");
  error = $state.raw<ApiError | undefined>();
  /** The whole answer, once it is there. */
  text = $state("");
  #tries = $state(0);
  #last = $state.raw<Trace | undefined>();
  #stop = new AbortController();
  #wish: Wish | null = null;

  /** Asks whenever `wish`, a question as JSON, changes; made where an effect may live. */
  constructor(wish: () => string | null) {
    // What else is selected changes no wish: only a derived value keeps it from being asked again.
    const said = $derived(wish());
    $effect(() => {
      void this.#tries;
      const wanted = said;
      const stop = untrack(() => this.#begin(wanted === null ? null : JSON.parse(wanted)));
      return () => stop.abort();
    });
    $effect(() => {
      let [lost, renewed] = ["", -Infinity];
      return onForgotten((id) => {
        const place = this.sentences.findIndex(({ trace }) => trace?.id === id);
        if (place < 0) return false;
        if (id === lost) return true; // on its way already
        if (performance.now() - renewed < RENEWED) return false;
        [lost, renewed] = [id, performance.now()];
        void this.#renew(place);
        return true;
      });
    });
  }

  get answered(): number {
    return this.sentences.filter(({ trace }) => trace).length;
  }

  /** How many have no answer, and not because somebody cancelled. */
  get failed(): number {
    return this.sentences.filter(({ error }) => error && error !== CANCELLED).length;
  }

  /** How many are to be answered. */
  get total(): number {
    return this.sentences.filter(({ asked }) => asked).length;
  }

  /** The sentence of this number, or the first that is answered at all. */
  at(part: number): number {
    if (this.sentences[part]?.asked) return part;
    return Math.max(
      0,
      this.sentences.findIndex(({ asked }) => asked),
    );
  }

  /** The answer to one sentence, as every view waits for it. */
  of(part: () => number): Asking<Trace> {
    const now = (): Asked<Trace> => this.#now(this.at(part()));
    return {
      get now() {
        return now();
      },
      get found() {
        const asked = now();
        if (asked.state === "ready") return asked.found;
        return asked.state === "loading" ? asked.before : undefined;
      },
      retry: () => (this.#tries += 1),
    };
  }

  /** No further: the page hears no more, and the server ends its work. */
  cancel(): void {
    if (this.state !== "loading") return;
    this.#stop.abort();
    this.state = "cancelled";
    this.sentences = this.sentences.map((one) =>
      one.asked && !one.trace && !one.error ? { ...one, error: CANCELLED } : one,
    );
  }

  #now(at: number): Asked<Trace> {
    if (this.state === "idle") return { state: "idle" };
    const { trace, error = this.error } = this.sentences[at] ?? {};
    if (trace) return { state: "ready", found: trace };
    if (error) return { state: "error", error };
    if (this.state === "cancelled") return { state: "error", error: CANCELLED };
    return this.#last ? { state: "loading", before: this.#last } : { state: "loading" };
  }

  #begin(wish: Wish | null): AbortController {
    this.#stop = new AbortController();
    this.#wish = wish;
    this.#last = wish ? this.sentences.find(({ trace }) => trace)?.trace : undefined;
    this.sentences = [];
    [this.count, this.text, this.error] = [1, "", undefined];
    this.state = wish ? "loading" : "idle";
    if (wish) void this.#ask(wish, this.#stop.signal);
    return this.#stop;
  }

  async #ask(wish: Wish, signal: AbortSignal): Promise<void> {
    try {
      for await (const line of api.answer(wish, signal)) {
        if (signal.aborted) return;
        if (line.kind === "parts") {
          [this.sentences, this.count] = [line.parts, line.sentences];
        } else if (line.kind === "answered") {
          this.#last = undefined;
          this.#put(line.part, { trace: line.trace });
        } else if (line.kind === "failed") {
          this.#put(line.part, { error: line.error });
        } else {
          [this.text, this.state] = [line.text, "done"];
        }
      }
      if (this.state === "loading" && !signal.aborted) {
        throw new ApiError("The studio stopped in the middle of the answer.", "", "Try again.");
      }
    } catch (error) {
      if (signal.aborted) return;
      [this.error, this.state] = [known(error), "error"];
    }
  }

  /** A trace that the server has forgotten, asked for anew: after a restart, or after many others. */
  async #renew(place: number): Promise<void> {
    const [one, wish, { signal }] = [this.sentences[place], this.#wish, this.#stop];
    if (!one?.trace || !wish) return;
    try {
      this.#put(place, { trace: await api.trace(one.trace.asked, new AbortController().signal) });
    } catch (error) {
      if (!signal.aborted) this.#put(place, { error: known(error) });
    }
  }

  #put(place: number, more: Pick<Sentence, "trace" | "error">): void {
    this.sentences = this.sentences.map((one, at) =>
      at === place ? { text: one.text, asked: one.asked, ...more } : one,
    );
  }
}
