// A page that stands alone: the picture, the numbers and the Python, without script and without the network.

import { exact, type Cell } from "./csv";
import { escaped, type Inks } from "./drawing";

const MOST = 200_000; // cells of a table that a browser still lays out at once

export interface Leaf {
  readonly title: string;
  readonly svg: string;
  readonly table: Iterable<readonly Cell[]>;
  readonly python: string;
}

export function standalone(leaf: Leaf, inks: Inks): string {
  const colour = (name: string): string => inks[name] ?? "currentColor";
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(leaf.title)}</title>
<style>
body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: ${colour("paper")}; color: ${colour("ink")}; font: 16px/1.5 system-ui, sans-serif; }
figure { margin: 0; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; }
summary { margin: 1rem 0 0.5rem; cursor: pointer; }
.wide { overflow: auto; max-height: 80vh; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td { padding: 0.2rem 0.7rem; border-bottom: 1px solid ${colour("line")}; white-space: nowrap; }
td.number { text-align: right; }
pre { overflow-x: auto; padding: 1rem; background: ${colour("sunk")}; }
footer { margin-top: 2rem; color: ${colour("soft")}; }
</style>
</head>
<body>
<figure role="img" aria-label="${escaped(leaf.title)}">
${leaf.svg}</figure>
<details open><summary>The numbers</summary>
${tableOf(leaf.table)}
</details>
<details open><summary>The same in Python</summary>
<pre dir="ltr">${escaped(leaf.python)}</pre>
</details>
<footer>Made by regard studio. This page holds all it shows and fetches nothing.</footer>
</body>
</html>
`;
}

function tableOf(rows: Iterable<readonly Cell[]>): string {
  const body: string[] = [];
  let cells = 0;
  for (const row of rows) {
    cells += row.length;
    if (cells > MOST) return "<p>Too many cells for a page; the CSV has them all.</p>";
    body.push(`<tr>${row.map(cellOf).join("")}</tr>`);
  }
  return `<div class="wide"><table>\n${body.join("\n")}\n</table></div>`;
}

function cellOf(cell: Cell): string {
  if (typeof cell === "number") {
    return `<td class="number">${Number.isFinite(cell) ? exact(cell) : ""}</td>`;
  }
  return `<td><bdi>${escaped(cell)}</bdi></td>`;
}
