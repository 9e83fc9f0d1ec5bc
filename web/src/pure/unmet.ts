// What a link asks for and this studio does not have, as sentences: nothing else is shown in its place in silence.

import type { Selection } from "./selection";

export interface Here {
  readonly run?: { readonly name: string; readonly languages?: Readonly<Record<string, string>> };
  readonly runs?: readonly string[];
  /** What can be looked at, once it has been answered. */
  readonly sites?: readonly { readonly path: string }[];
  readonly site?: { readonly heads: number; readonly title: string };
  readonly rows?: number;
  readonly columns?: number;
}

/** A sentence for each part of the address that makes no sense anywhere. */
export function unread(parts: readonly (readonly [name: string, value: string])[]): string[] {
  return parts.map(
    ([name, value]) =>
      `The link says “${name}=${short(value)}”, which this page does not understand.`,
  );
}

/** A sentence for each thing that the selection names and that is not here. */
export function unmet(wanted: Selection, here: Here): string[] {
  const found: string[] = [];
  const lacks = (what: string, instead: string): void => {
    found.push(`The link asks for ${what}. ${instead}`);
  };
  const { run, runs, sites, site } = here;
  if (run && wanted.to && !Object.hasOwn(run.languages ?? {}, wanted.to))
    lacks(`the language “${short(wanted.to)}”, which ${run.name} does not know`, "It is ignored.");
  if (runs && wanted.view === "compare" && wanted.otherRun && !runs.includes(wanted.otherRun))
    lacks(
      `the run “${short(wanted.otherRun)}” to compare with, which is not here`,
      "Another one is shown.",
    );
  if (sites && wanted.site && !sites.some(({ path }) => path === wanted.site))
    lacks(
      `the attention “${short(wanted.site)}”, which this model does not have`,
      "Its default is shown.",
    );
  if (site && typeof wanted.head === "number" && wanted.head >= site.heads)
    lacks(`head ${wanted.head + 1}`, `${site.title} has ${count(site.heads, "head")}.`);
  if (here.rows !== undefined && (wanted.row ?? 0) >= here.rows)
    lacks(`row ${wanted.row! + 1}`, `There ${are(here.rows, "row")}.`);
  if (here.columns !== undefined && (wanted.column ?? 0) >= here.columns)
    lacks(`column ${wanted.column! + 1}`, `There ${are(here.columns, "column")}.`);
  return found;
}

export function count(number: number, name: string): string {
  return `${number} ${name}${number === 1 ? "" : "s"}`;
}

function are(number: number, name: string): string {
  return `${number === 1 ? "is" : "are"} ${count(number, name)}`;
}

function short(text: string): string {
  const letters = [...text];
  return letters.length > 60 ? `${letters.slice(0, 59).join("")}…` : text;
}
