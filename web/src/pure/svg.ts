// A heat map as a drawing that stands alone. Tokens are text inside it and nothing else.

import { css, cividis, puOr, type Palette } from "./colour";
import { at, reach, type Matrix } from "./matrix";

const CELL = 28;

/** Text that an XML file may hold: marks escaped, controls that XML forbids left out. */
export function escaped(text: string): string {
  return (
    text
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&apos;")
  );
}

export function heatMapSvg(
  matrix: Matrix,
  rows: readonly string[],
  columns: readonly string[],
  palette: Palette,
): string {
  const longest = (names: readonly string[]): number =>
    Math.min(240, 16 + 8 * Math.max(1, ...names.map((name) => [...name].length)));
  const [left, top] = [longest(rows), longest(columns)];
  const [width, height] = [left + matrix.columns * CELL + 40, top + matrix.rows * CELL + 8];
  const scale = palette === "signed" ? reach(matrix.values) || 1 : 1;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
  ];
  rows.forEach((name, row) => {
    const y = top + row * CELL + CELL / 2;
    parts.push(
      `<text x="${left - 8}" y="${y}" dy="0.35em" text-anchor="end" unicode-bidi="isolate">${escaped(name)}</text>`,
    );
  });
  columns.forEach((name, column) => {
    const x = left + column * CELL + CELL / 2;
    parts.push(
      `<text transform="translate(${x} ${top - 8}) rotate(-60)" dy="0.35em" unicode-bidi="isolate">${escaped(name)}</text>`,
    );
  });
  for (let row = 0; row < matrix.rows; row++) {
    for (let column = 0; column < matrix.columns; column++) {
      const value = at(matrix, row, column);
      const colour = palette === "signed" ? puOr(value / scale) : cividis(value);
      parts.push(
        `<rect x="${left + column * CELL}" y="${top + row * CELL}" width="${CELL - 1}" height="${CELL - 1}" fill="${css(colour)}"><title>${value.toFixed(4)}</title></rect>`,
      );
    }
  }
  return parts.join("\n") + "\n</svg>\n";
}
