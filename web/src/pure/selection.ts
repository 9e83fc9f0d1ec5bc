// What is being looked at. One value holds all of it, and the address after # is its text,
// so that a link brings back exactly what was seen.

import { isHeld } from "./text";

export const VIEWS = [
  "answer",
  "heat",
  "lines",
  "model",
  "heads",
  "graph",
  "neurons",
  "beam",
  "senses",
  "learning",
  "compare",
  "lessons",
] as const;
export type View = (typeof VIEWS)[number];
const READINGS = ["", "sentences", "whole"] as const;
export type Reading = (typeof READINGS)[number];
const ORDERS = ["", "most", "least"] as const;
const TINTS = ["", "sense", "translation", "group"] as const;
export type Tint = (typeof TINTS)[number];
/** A head by its number, the mean of all, or the default: the heads that the model's card names, else all. */
export type Head = number | "mean" | "default";

export interface Selection {
  readonly view: View;
  readonly run: string;
  readonly text: string;
  /** The code of the language to translate into; empty leaves it to the page. */
  readonly to: string;
  readonly beam: number;
  /** Symbols that the answer must begin with. */
  readonly prefix: readonly string[];
  /** How a text of several sentences is read; empty leaves it to the model. */
  readonly reading: Reading;
  /** Which of its sentences is looked at, from 0. */
  readonly part: number;
  /** A path such as reader.attention; empty for the one that best shows where the answer comes from. */
  readonly site: string;
  readonly head: Head;
  /** A query, or -1 for all of them; until somebody chooses, each view begins at the first word. */
  readonly row: number | null;
  readonly column: number | null;
  readonly words: boolean;
  readonly table: boolean;
  /** Whether weights over a picture are interpolated between the centres of its cells. */
  readonly smooth: boolean;
  /** Whether the beam's tree shows what was dropped. */
  readonly dropped: boolean;
  /** Whether the beam's tree is made small enough to be seen whole. */
  readonly fit: boolean;
  /** The other side of a comparison. */
  readonly otherRun: string;
  readonly otherText: string;
  readonly otherSite: string;
  /** Until somebody chooses, one that differs from the first. */
  readonly otherHead: Head | null;
  /** What heads are shaded and sorted by; empty for entropy. */
  readonly measure: string;
  /** Sorted by that measure, largest or smallest first; empty leaves heads as the model has them. */
  readonly order: (typeof ORDERS)[number];
  /** Only heads of this role or of this kind of attention; empty for all. */
  readonly role: string;
  readonly kind: string;
  /** Sentences that heads are measured over, one a line; empty for those that come with the model. */
  readonly headText: string;
  /** The word whose senses are looked at, and sentences with it, one a line; empty for those that ship. */
  readonly word: string;
  readonly senseText: string;
  /** Behind which layer; -1 is the last. */
  readonly layer: number;
  /** What the colours of a map of senses say; empty for the first that is known. */
  readonly tint: Tint;
  /** The occurrence selected. */
  readonly dot: number;
  readonly step: number;
  readonly probe: number;
  readonly lesson: string;
  /** A lesson's own numbers, as JSON; empty for the lecture's. */
  readonly inputs: string;
}

export const START: Selection = {
  view: "answer",
  run: "",
  text: "",
  to: "",
  beam: 4,
  prefix: [],
  reading: "",
  part: 0,
  site: "",
  head: "default",
  row: null,
  column: null,
  words: false,
  table: false,
  smooth: false,
  dropped: true,
  fit: false,
  otherRun: "",
  otherText: "",
  otherSite: "",
  otherHead: null,
  measure: "",
  order: "",
  role: "",
  kind: "",
  headText: "",
  word: "bank",
  senseText: "",
  layer: -1,
  tint: "",
  dot: 0,
  step: -1,
  probe: 0,
  lesson: "",
  inputs: "",
};

const HELD = 60_000; // letters of a picture that an address may hold
const LONGEST = 400_000; // letters: the longest text that a server reads, each of them written as %E4%BD%A0

/** The address of a selection: only what differs from the start. */
export function toHash(selection: Selection): string {
  const parts = new URLSearchParams();
  for (const name of Object.keys(START) as (keyof Selection)[]) {
    const value = selection[name];
    if (name === "prefix") {
      for (const symbol of selection.prefix) parts.append("prefix", symbol);
    } else if (name === "text" && isHeld(selection.text) && selection.text.length > HELD) {
      continue; // no address is long enough for a sound
    } else if (value !== START[name]) {
      parts.set(name, value === true ? "1" : String(value));
    }
  }
  const text = parts.toString();
  return text ? `#${text}` : "";
}

/** The selection of an address; what makes no sense is left as at the start, and `misread` names it. */
export function fromHash(hash: string): Selection {
  const parts = new URLSearchParams(hash.replace(/^#/, "").slice(0, LONGEST));
  const found: Record<string, unknown> = { ...START };
  for (const [name, start] of Object.entries(START)) {
    const text = parts.get(name);
    if (name === "prefix") found[name] = parts.getAll("prefix");
    else if (text !== null) found[name] = read(name, text) ?? start;
  }
  return found as unknown as Selection;
}

/** The parts of an address that say nothing this page understands, as name and value. */
export function misread(hash: string): (readonly [name: string, value: string])[] {
  const parts = new URLSearchParams(hash.replace(/^#/, "").slice(0, LONGEST));
  return [...parts].filter(
    ([name, text]) => !Object.hasOwn(START, name) || read(name, text) === undefined,
  );
}

const TRUTH: Readonly<Record<string, boolean>> = {
  "1": true,
  true: true,
  "0": false,
  false: false,
};

/** The value of one part of an address, or undefined where it cannot be one. */
function read(name: string, text: string): unknown {
  const start = START[name as keyof Selection];
  if (name === "view") return VIEWS.find((view) => view === text);
  if (name === "head" || name === "otherHead") return head(text);
  if (name === "beam") return integer(text, 1);
  if (name === "part") return integer(text, 0);
  if (name === "order") return ORDERS.find((order) => order === text);
  if (name === "tint") return TINTS.find((tint) => tint === text);
  if (name === "dot") return integer(text, 0);
  if (name === "reading") return READINGS.find((reading) => reading === text);
  if (typeof start === "boolean") return TRUTH[text];
  if (typeof start === "number" || start === null) return integer(text, -1);
  return text;
}

/** What one would go back from: another view, question or map. A row, a cell or a slider is not. */
const STEPS: readonly (keyof Selection)[] = [
  "view",
  "run",
  "text",
  "to",
  "beam",
  "prefix",
  "reading",
  "part",
  "site",
  "head",
  "words",
  "otherRun",
  "otherText",
  "otherSite",
  "otherHead",
  "headText",
  "word",
  "senseText",
  "lesson",
];

/** Whether a change is a step of navigation, which the browser's Back undoes. */
export function isStep(before: Selection, after: Selection): boolean {
  return STEPS.some((name) => String(before[name]) !== String(after[name]));
}

/** A change, and what it makes meaningless: another run or text has other cells and no forced beginning. */
export function change(before: Selection, part: Partial<Selection>): Selection {
  const after = { ...before, ...part };
  const isNew = (name: keyof Selection): boolean => after[name] !== before[name];
  const fresh: Partial<Selection> = {};
  if (isNew("run")) Object.assign(fresh, { to: "", site: "", head: "default", step: -1, probe: 0 });
  if (isNew("run") || isNew("text") || isNew("reading")) Object.assign(fresh, { part: 0 });
  if (["run", "text", "to", "reading", "part"].some((name) => isNew(name as keyof Selection)))
    Object.assign(fresh, { prefix: [], row: null, column: null });
  if (isNew("site")) Object.assign(fresh, { head: "default", row: null, column: null });
  if (isNew("words")) Object.assign(fresh, { row: null, column: null });
  if (isNew("otherRun")) Object.assign(fresh, { otherSite: "", otherHead: null });
  if (isNew("run")) Object.assign(fresh, { role: "", kind: "", layer: -1 });
  if (["run", "word", "senseText"].some((name) => isNew(name as keyof Selection)))
    Object.assign(fresh, { dot: 0 });
  if (isNew("lesson")) Object.assign(fresh, { inputs: "" });
  return { ...after, ...fresh, ...part };
}

function head(text: string): Head | undefined {
  return text === "mean" || text === "default" ? text : integer(text, 0);
}

function integer(text: string, least: number): number | undefined {
  const number = Number(text);
  return text.trim() && Number.isSafeInteger(number) && number >= least ? number : undefined;
}
