// What is being looked at. One value holds all of it, and the address after # is its text,
// so that a link brings back exactly what was seen.

export const VIEWS = [
  "translate",
  "heat",
  "lines",
  "model",
  "graph",
  "neurons",
  "beam",
  "learning",
  "compare",
  "lessons",
] as const;
export type View = (typeof VIEWS)[number];
export type Head = number | "mean";

export interface Selection {
  readonly view: View;
  readonly run: string;
  readonly text: string;
  /** The code of the language to translate into; empty leaves it to the page. */
  readonly to: string;
  readonly beam: number;
  /** Symbols that the answer must begin with. */
  readonly prefix: readonly string[];
  /** A path such as reader.attention; empty for the one that best shows where the answer comes from. */
  readonly site: string;
  readonly head: Head;
  /** A query, or -1 for all of them; until somebody chooses, each view begins at the first word. */
  readonly row: number | null;
  readonly column: number | null;
  readonly words: boolean;
  readonly table: boolean;
  /** Whether the beam's tree shows what was dropped. */
  readonly dropped: boolean;
  /** The other side of a comparison. */
  readonly otherRun: string;
  readonly otherText: string;
  readonly otherSite: string;
  readonly otherHead: Head;
  readonly step: number;
  readonly probe: number;
  readonly lesson: string;
  /** A lesson's own numbers, as JSON; empty for the lecture's. */
  readonly inputs: string;
}

export const START: Selection = {
  view: "translate",
  run: "",
  text: "",
  to: "",
  beam: 4,
  prefix: [],
  site: "",
  head: "mean",
  row: null,
  column: null,
  words: false,
  table: false,
  dropped: true,
  otherRun: "",
  otherText: "",
  otherSite: "",
  otherHead: "mean",
  step: -1,
  probe: 0,
  lesson: "",
  inputs: "",
};

const LONGEST = 400_000; // letters: the longest text that a server reads, each of them written as %E4%BD%A0

/** The address of a selection: only what differs from the start. */
export function toHash(selection: Selection): string {
  const parts = new URLSearchParams();
  for (const name of Object.keys(START) as (keyof Selection)[]) {
    const value = selection[name];
    if (name === "prefix") {
      for (const symbol of selection.prefix) parts.append("prefix", symbol);
    } else if (value !== START[name]) {
      parts.set(name, value === true ? "1" : String(value));
    }
  }
  const text = parts.toString();
  return text ? `#${text}` : "";
}

/** The selection of an address; what makes no sense is left as at the start. */
export function fromHash(hash: string): Selection {
  const parts = new URLSearchParams(hash.replace(/^#/, "").slice(0, LONGEST));
  const found: Record<string, unknown> = { ...START };
  for (const [name, start] of Object.entries(START)) {
    const text = parts.get(name);
    if (name === "prefix") found[name] = parts.getAll("prefix");
    else if (text === null) continue;
    else if (name === "view") found[name] = VIEWS.includes(text as View) ? text : start;
    else if (name === "head" || name === "otherHead") found[name] = head(text);
    else if (typeof start === "boolean") found[name] = text === "1";
    else if (typeof start === "number" || start === null) found[name] = whole(text, start);
    else found[name] = text;
  }
  return found as unknown as Selection;
}

/** A change, and what it makes meaningless: another run or text has other cells and no forced beginning. */
export function change(before: Selection, part: Partial<Selection>): Selection {
  const after = { ...before, ...part };
  const isNew = (name: keyof Selection): boolean => after[name] !== before[name];
  const fresh: Partial<Selection> = {};
  if (isNew("run")) Object.assign(fresh, { to: "", site: "", head: "mean", step: -1, probe: 0 });
  if (isNew("run") || isNew("text") || isNew("to"))
    Object.assign(fresh, { prefix: [], row: null, column: null });
  if (isNew("site")) Object.assign(fresh, { head: "mean", row: null, column: null });
  if (isNew("words")) Object.assign(fresh, { row: null, column: null });
  if (isNew("otherRun")) Object.assign(fresh, { otherSite: "", otherHead: "mean" });
  if (isNew("lesson")) Object.assign(fresh, { inputs: "" });
  return { ...after, ...fresh, ...part };
}

function head(text: string): Head {
  return text === "mean" ? "mean" : whole(text, 0);
}

function whole<Otherwise>(text: string, otherwise: Otherwise): number | Otherwise {
  const number = Number(text);
  return Number.isSafeInteger(number) && number >= -1 ? number : otherwise;
}
