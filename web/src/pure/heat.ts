// Matrices as drawings: cells in colour, their names along two sides, and what the colours mean.

import type { Cell } from "./csv";
import { css, cividis, puOr, type Palette } from "./colour";
import { box, ink, wide, words, type Drawing, type Mark } from "./drawing";
import { labelStride } from "./layout";
import { at, FINEST, pooled, reach, rowOf, type Matrix } from "./matrix";
import { digits, isolated } from "./text";

/** Makes a picture of one pixel a cell, as a data address; drawings of very many cells hold it. */
export type Pixels = (matrix: Matrix, palette: Palette, scale: number) => string;

const MANY = 4_000;
const FONT = 13;

export function colourOf(value: number, palette: Palette, scale: number): string {
  return css(palette === "signed" ? puOr(value / (scale || 1)) : cividis(value));
}

export function scaleOf(matrix: Matrix, palette: Palette): number {
  return palette === "signed" ? reach(matrix.values) || 1 : 1;
}

/** A strip from the least to the most, with both numbers. */
export function scaleDrawing(palette: Palette, scale: number, label = ""): Drawing {
  const low = palette === "signed" ? digits(-scale, 2) : "0";
  const left = wide(low, FONT) + 8 + (label ? wide(label, FONT) + 14 : 0);
  const strip = Array.from({ length: 32 }, (_, place) => {
    const share = place / 31;
    const colour = palette === "signed" ? puOr(2 * share - 1) : cividis(share);
    return box(left + place * 5, 2, 5.5, 12, css(colour));
  });
  const soft = { size: FONT, ink: ink("soft") };
  const marks = [
    ...(label ? [words(0, 8, label, soft)] : []),
    words(left - 8, 8, low, { ...soft, anchor: "end" }),
    ...strip,
    words(left + 170, 8, digits(scale, 2), soft),
  ];
  return { width: left + 175 + wide(digits(scale, 2), FONT), height: 16, marks };
}

/** The cells alone: a rectangle each, or one picture where there would be too many. */
export function cellMarks(
  matrix: Matrix,
  palette: Palette,
  scale: number,
  place: { x: number; y: number; cell: number; tall: number; gap: number },
  pixels: Pixels,
): Mark[] {
  const { x, y, cell, tall, gap } = place;
  if (matrix.rows * matrix.columns > MANY) {
    return [
      {
        tag: "image",
        at: {
          x,
          y,
          width: matrix.columns * cell,
          height: matrix.rows * tall,
          preserveAspectRatio: "none",
          "image-rendering": "pixelated",
          href: pixels(matrix, palette, scale),
        },
      },
    ];
  }
  return Array.from(matrix.values, (value, at) => {
    const [row, column] = [Math.floor(at / matrix.columns), at % matrix.columns];
    const colour = colourOf(value, palette, scale);
    return box(x + column * cell, y + row * tall, cell - gap, tall - gap, colour);
  });
}

export interface HeatMap {
  readonly matrix: Matrix;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly palette?: Palette;
  /** What stands down and across, as the titles of the axes. */
  readonly rowTitle?: string;
  readonly columnTitle?: string;
}

/** Its rows with their names, made one at a time. */
export function* gridRows(corner: string, map: HeatMap): Generator<readonly Cell[]> {
  yield [corner, ...map.columns];
  for (const [row, name] of map.rows.entries()) yield [name, ...rowOf(map.matrix, row)];
}

/** A whole map: names, cells, numbers where there is room, and the scale. */
export function heatDrawing(map: HeatMap, pixels: Pixels, most = 34): Drawing {
  const { palette = "weights", rowTitle = "queries", columnTitle = "keys" } = map;
  const { matrix, down, across } = pooled(map.matrix, FINEST);
  const scale = scaleOf(matrix, palette);
  const cell = Math.max(2, Math.min(most, Math.floor(1100 / matrix.columns)));
  const tall = cell >= 12 ? cell : Math.max(cell, Math.min(24, Math.floor(620 / matrix.rows)));
  const longest = (names: readonly string[]): number =>
    Math.min(220, Math.max(20, ...names.map((name) => wide(short(name), FONT))));
  const isTall = rowTitle !== "" && wide(rowTitle, FONT) <= matrix.rows * tall; // room to stand beside the rows
  const left = longest(map.rows) + 12 + (isTall ? 22 : 0);
  const top = longest(map.columns) * 0.82 + 34;
  const soft = { size: FONT, ink: ink("soft") };
  const middle = top + (matrix.rows * tall) / 2;
  const head = [isTall || !rowTitle ? "" : `${rowTitle} ↓`, columnTitle && `${columnTitle} →`];
  const marks: Mark[] = [words(isTall ? left : 0, 8, head.filter(Boolean).join("   "), soft)];
  if (isTall) marks.push(words(8, middle, rowTitle, { ...soft, turn: -90, anchor: "middle" }));
  for (let row = 0; row < matrix.rows; row += labelStride(tall, FONT + 2)) {
    const name = isolated(short(map.rows[row * down] ?? ""));
    marks.push(words(left - 8, top + (row + 0.5) * tall, name, { size: FONT, anchor: "end" }));
  }
  for (let column = 0; column < matrix.columns; column += labelStride(cell, FONT + 2)) {
    const name = isolated(short(map.columns[column * across] ?? ""));
    marks.push(words(left + (column + 0.5) * cell, top - 8, name, { size: FONT, turn: -55 }));
  }
  const gap = cell > 7 ? 1 : 0;
  marks.push(...cellMarks(matrix, palette, scale, { x: left, y: top, cell, tall, gap }, pixels));
  if (cell >= 30) marks.push(...numbers(matrix, palette, scale, left, top, cell));
  const bottom = top + matrix.rows * tall + 14;
  const legend = scaleDrawing(palette, scale, palette === "signed" ? "value" : "weight");
  marks.push({ tag: "g", at: { transform: `translate(${left} ${bottom})` }, inside: legend.marks });
  const width = left + Math.max(matrix.columns * cell + longest(map.columns) * 0.6, legend.width);
  return { width, height: bottom + legend.height, marks };
}

function numbers(
  matrix: Matrix,
  palette: Palette,
  scale: number,
  left: number,
  top: number,
  cell: number,
): Mark[] {
  if (matrix.rows * matrix.columns > MANY) return [];
  const marks: Mark[] = [];
  for (let row = 0; row < matrix.rows; row++) {
    for (let column = 0; column < matrix.columns; column++) {
      const value = at(matrix, row, column);
      if (Math.abs(value) < 0.005) continue;
      const share = palette === "signed" ? value / scale : value;
      const dark = palette === "signed" ? Math.abs(share) > 0.62 : share < 0.5;
      marks.push(
        words(left + (column + 0.5) * cell, top + (row + 0.5) * cell, brief(value), {
          size: 11,
          anchor: "middle",
          ink: dark ? "#fff" : "#000",
        }),
      );
    }
  }
  return marks;
}

/** Two decimals without the leading zero: .93 */
export function brief(value: number): string {
  return value
    .toFixed(2)
    .replace(/^(-?)0\./, "$1.")
    .replace("-", "−");
}

export function short(name: string, most = 24): string {
  const letters = [...name];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : name;
}
