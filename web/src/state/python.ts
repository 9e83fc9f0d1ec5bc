// The lines of Python that make what is on the screen. Each of them is run by a test, from every view.

import type { Site, Trace } from "./api";
import type { Heads } from "./picture.svelte";
import { studio } from "./studio.svelte";

/** A text as Python writes it. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\u{10ffff}]/gu, (letter) => {
    if (/\p{L}|\p{M}|\p{N}|\p{P}|\p{S}/u.test(letter)) return letter;
    const code = letter.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** Any value of JSON as Python writes it. */
export function literal(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return String(value);
  const pairs = Object.entries(value).map(([name, one]) => `${quoted(name)}: ${literal(one)}`);
  return `{${pairs.join(", ")}}`;
}

/** The call that gives this very trace: with the language it was answered in, chosen or guessed. */
export function traced(trace: Trace): string {
  const { run, text, beam, prefix } = trace.asked;
  const place = studio.about.found?.runs.find(({ name }) => name === run)?.place ?? run;
  const to = trace.to || trace.asked.to;
  const given = [
    quoted(place),
    quoted(text),
    `beam=${beam}`,
    ...(to ? [`to=${quoted(to)}`] : []),
    ...(prefix.length ? [`prefix=${literal(prefix)}`] : []),
  ];
  return `regard.trace(${given.join(", ")})`;
}

/** A program that makes the trace and then does something with it, as `seen`. */
export function tracePython(trace: Trace, then: readonly string[] = []): string {
  return ["import regard", "", `seen = ${traced(trace)}`, ...then, ""].join("\n");
}

/** The map of a site: of one head, or the mean of some, between pieces or between words. */
export function sitePython(
  site: Site,
  head: Heads,
  words = false,
  { trace = "seen", weights = "weights" } = {},
): string[] {
  const all = words ? `${trace}.by_words(site)` : "site.weights";
  const chosen =
    head === "mean"
      ? `${all}.mean(0)`
      : typeof head === "number"
        ? `${all}[${head}]`
        : `${all}[${literal(head)}].mean(0)`;
  return [`site = ${trace}.site(${quoted(site.path)})`, `${weights} = ${chosen}  # (query, key)`];
}
