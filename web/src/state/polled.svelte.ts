// What the server has to show, asked for again and again: runs come, models are trained, servers stop and start.

import { known, type Asked, type Asking } from "./asked.svelte";

const [SELDOM, OFTEN] = [10_000, 2_000]; // milliseconds between two questions

export interface Polled<Found> extends Asking<Found> {
  /** Whether the server has stopped answering since; what it said last is still here. */
  readonly isGone: boolean;
}

/**
 * Ask at once, whenever somebody comes back to the page, and every few seconds while it is seen: often while
 * `isBusy` or while there is no answer. `back` is called when a server that was gone answers again.
 */
export function polled<Found>(
  answer: (signal: AbortSignal) => Promise<Found>,
  isBusy: (found: Found) => boolean,
  back: () => void,
): Polled<Found> {
  let now = $state.raw<Asked<Found>>({ state: "loading" });
  let isGone = $state(false);
  let stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const found = (): Found | undefined => (now.state === "ready" ? now.found : undefined);

  async function look(): Promise<void> {
    clearTimeout(timer);
    stop.abort();
    const { signal } = (stop = new AbortController());
    try {
      const said = await answer(signal);
      if (signal.aborted) return;
      // What has not changed is left alone, so that nothing that depends on it is done again.
      if (JSON.stringify(said) !== JSON.stringify(found())) now = { state: "ready", found: said };
      const wasGone = isGone;
      isGone = false;
      if (wasGone) back();
    } catch (error) {
      if (signal.aborted) return;
      isGone = true;
      if (found() === undefined) now = { state: "error", error: known(error) };
    }
    const here = found();
    timer = setTimeout(again, isGone || (here && isBusy(here)) ? OFTEN : SELDOM);
  }
  function again(): void {
    if (document.visibilityState === "visible") void look();
  }

  $effect(() => {
    void look();
    window.addEventListener("focus", again);
    document.addEventListener("visibilitychange", again);
    return () => {
      clearTimeout(timer);
      stop.abort();
      window.removeEventListener("focus", again);
      document.removeEventListener("visibilitychange", again);
    };
  });
  return {
    get now() {
      return now;
    },
    get found() {
      return found();
    },
    get isGone() {
      return isGone;
    },
    retry: () => void look(),
  };
}
