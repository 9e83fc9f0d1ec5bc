// A question that changes, and the answer to the last one asked. Whatever comes late is dropped.

import { untrack } from "svelte";
import { ApiError } from "./api";

export type Asked<Found> =
  | { readonly state: "idle" }
  | { readonly state: "loading"; readonly before?: Found }
  | { readonly state: "ready"; readonly found: Found }
  | { readonly state: "error"; readonly error: ApiError };

export interface Asking<Found> {
  readonly now: Asked<Found>;
  /** The answer, or, while a new one is on its way, the last one. */
  readonly found: Found | undefined;
  retry(): void;
}

/** Ask whenever `question` changes; null asks nothing. Call it where an effect may live. */
export function asked<Question, Found>(
  question: () => Question | null,
  answer: (question: Question, signal: AbortSignal) => Promise<Found>,
): Asking<Found> {
  let now = $state.raw<Asked<Found>>({ state: "idle" });
  let tries = $state(0);
  let last: Found | undefined;

  $effect(() => {
    void tries;
    const wanted = question();
    if (wanted === null) {
      last = undefined;
      now = { state: "idle" };
      return;
    }
    const stop = new AbortController();
    now = last === undefined ? { state: "loading" } : { state: "loading", before: last };
    untrack(() => answer(wanted, stop.signal)).then(
      (found) => {
        if (stop.signal.aborted) return;
        last = found;
        now = { state: "ready", found };
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        last = undefined;
        now = { state: "error", error: known(error) };
      },
    );
    return () => stop.abort();
  });

  return {
    get now() {
      return now;
    },
    get found() {
      return now.state === "ready" ? now.found : now.state === "loading" ? now.before : undefined;
    },
    retry() {
      tries += 1;
    },
  };
}

/** Whatever went wrong, as something to tell a person. */
export function known(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(
    error instanceof Error ? error.message : "Something went wrong on this page.",
  );
}
