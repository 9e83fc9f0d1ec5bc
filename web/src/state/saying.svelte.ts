// An answer being said: which step is shown now, and the walk through all of them.

import { untrack } from "svelte";
import { isMarked, readable, spelling } from "../pure/text";
import type { Trace } from "./api";
import { prompted, studio } from "./studio.svelte";

const [QUICK, SLOW, WHOLE] = [180, 700, 2400]; // milliseconds: of a step, of one to follow, of all

export class Saying {
  /** The step being said; nothing while it stands still. */
  now = $state<number | null>(null);
  hovered = $state<number | null>(null);
  #pace = QUICK;

  /** Made where effects may live; `trace` is the one shown. */
  constructor(readonly trace: () => Trace) {
    $effect(() => {
      const isNew = studio.arrived(trace());
      untrack(() => this.#begin(isNew));
    });
    $effect(() => {
      if (this.now === null) return;
      const next = this.now + 1;
      const timer = setTimeout(() => (this.now = next < this.count ? next : null), this.#pace);
      return () => clearTimeout(timer);
    });
  }

  get count(): number {
    return this.trace().steps.length;
  }

  /** The step that is shown before one is chosen: of a continued text, the first that the model said itself. */
  get first(): number {
    const typed = prompted(this.trace());
    return typed < this.count ? typed : 0;
  }

  /** The step that everything else on the page is about. */
  get step(): number {
    const { row } = studio.selection;
    const wanted = this.now ?? this.hovered ?? (row === null ? this.first : this.stepOf(row));
    return Math.min(Math.max(0, wanted), this.count - 1);
  }

  /** Its row in a map: of an encoder's own attention, that of the token it was said from, if it was one. */
  rowOf(step: number, ofSource: boolean): number | null {
    return ofSource ? (this.trace().steps[step]?.place ?? null) : step;
  }

  /** The step that a row of a map belongs to. */
  stepOf(row: number): number {
    const at = this.trace().steps.findIndex(({ place }) => place === row);
    return at < 0 ? row : at;
  }

  get isGenerated(): boolean {
    return studio.taskOf(this.trace().task)?.searches ?? true;
  }

  /** What has been said up to now, as far as the pieces alone tell. */
  get soFar(): string {
    const symbols = this.trace().steps.map((one) => one.symbol);
    return readable(spelling(symbols.slice(0, (this.now ?? this.count) + 1), isMarked(symbols)));
  }

  /** Slowly, from the beginning; or no further. */
  toggle(): void {
    if (this.now === null) this.#play(SLOW, 0);
    else this.stop();
  }

  stop(): void {
    this.now = null;
  }

  /** A new answer is said once; a link that points at a step is not kept waiting. */
  #begin(isNew: boolean): void {
    this.stop();
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const given = Math.max(0, studio.selection.prefix.length - 1);
    if (!isNew || still || !this.isGenerated || (studio.selection.row ?? 0) > given) return;
    this.#play(Math.min(QUICK, WHOLE / this.count), given);
  }

  #play(pace: number, from: number): void {
    this.#pace = pace;
    this.now = Math.min(from, this.count - 1);
  }
}
