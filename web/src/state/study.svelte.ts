// A study that takes seconds to a minute: how far it is, what it found, and a way to stop. It goes on while other
// views are looked at, and what it found stays until something else is asked.

import type { ApiError } from "./api";
import { known, type Asked, type Asking } from "./asked.svelte";
import { studioApi, type StudyLine } from "./server";
import type { HeadsStudied, SensesStudied } from "../schema";

export class Study<Found> implements Asking<Found> {
  state = $state<"idle" | "loading" | "ready" | "cancelled" | "error">("idle");
  done = $state(0);
  total = $state(0);
  found = $state.raw<Found | undefined>();
  #error = $state.raw<ApiError | undefined>();
  #wish: string | null = null;
  #stop = new AbortController();

  constructor(
    readonly ask: (wish: unknown, signal: AbortSignal) => AsyncIterable<StudyLine<Found>>,
  ) {}

  /** Ask, where this is another question than the last; null asks nothing. */
  want(wish: string | null): void {
    if (wish === this.#wish && this.state !== "idle") return;
    this.#wish = wish;
    this.retry();
  }

  get now(): Asked<Found> {
    if (this.state === "ready" && this.found) return { state: "ready", found: this.found };
    if (this.state === "error" && this.#error) return { state: "error", error: this.#error };
    return this.state === "loading" ? { state: "loading" } : { state: "idle" };
  }

  retry(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    [this.found, this.#error, this.done, this.total] = [undefined, undefined, 0, 0];
    this.state = this.#wish === null ? "idle" : "loading";
    if (this.#wish !== null) void this.#follow(JSON.parse(this.#wish), this.#stop.signal);
  }

  cancel(): void {
    if (this.state !== "loading") return;
    this.#stop.abort();
    this.state = "cancelled";
  }

  async #follow(wish: unknown, signal: AbortSignal): Promise<void> {
    try {
      for await (const line of this.ask(wish, signal)) {
        if (signal.aborted) return;
        if (line.kind === "progress") [this.done, this.total] = [line.done, line.total];
        else [this.found, this.state] = [line, "ready"];
      }
      if (this.state === "loading" && !signal.aborted)
        throw new Error("The studio stopped in the middle of the work.");
    } catch (error) {
      if (signal.aborted) return;
      [this.#error, this.state] = [known(error), "error"];
    }
  }
}

export const headStudy = new Study<HeadsStudied>(studioApi.heads);
export const senseStudy = new Study<SensesStudied>(studioApi.senses);

/** Sentences somebody typed, one a line; nothing where nobody did. */
export function linesOf(text: string): string[] | undefined {
  const found = text.split("\n").flatMap((line) => line.trim() || []);
  return found.length ? found : undefined;
}
