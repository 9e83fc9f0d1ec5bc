// The lines of Python that make what is on the screen.

import type { Head } from "../pure/selection";
import type { Site } from "./api";

/** A text as Python writes it. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) =>
    /\p{L}|\p{M}|\p{N}|\p{P}|\p{S}/u.test(letter)
      ? letter
      : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function tracePython(
  place: string,
  {
    text,
    to = "",
    beam,
    prefix,
  }: { text: string; to?: string; beam: number; prefix: readonly string[] },
  then: readonly string[] = [],
): string {
  const more =
    (to ? `, to=${quoted(to)}` : "") +
    (prefix.length ? `, prefix=[${prefix.map(quoted).join(", ")}]` : "");
  return [
    "import regard",
    "",
    `seen = regard.trace(${quoted(place)}, ${quoted(text)}, beam=${beam}${more})`,
    ...then,
    "",
  ].join("\n");
}

export function sitePython(site: Site, head: Head): string[] {
  const chosen = head === "mean" ? "site.weights.mean(0)" : `site.weights[${head}]`;
  return [`site = seen.site(${quoted(site.path)})`, `weights = ${chosen}  # (query, key)`];
}
