// Tables as drawings: a cell is a text, or a number on the colour it stands for.

import { css, inkOn, type Colour } from "./colour";
import { box, ink, wide, words, type Drawing, type Mark } from "./drawing";
import { short } from "./heat";
import { isolated } from "./text";

export interface Filled {
  readonly text: string;
  readonly colour?: Colour | null;
  readonly soft?: boolean;
  readonly start?: boolean;
}

const [FONT, TALL, PAD] = [13, 26, 9];

/** Columns as wide as what stands in them. */
export function sheetDrawing(rows: readonly (readonly Filled[])[]): Drawing {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(30, ...rows.map((row) => wide(short(row[column]?.text ?? "", 60), FONT) + 2 * PAD)),
  );
  const lefts = widths.map((_, column) =>
    widths.slice(0, column).reduce((sum, one) => sum + one, 0),
  );
  const marks = rows.flatMap((row, at) =>
    row.flatMap((cell, column): Mark[] => {
      const [x, y, width] = [lefts[column]!, at * TALL, widths[column]!];
      const text = isolated(short(cell.text, 60));
      const colour = cell.colour ? css(inkOn(cell.colour)) : ink(cell.soft ? "soft" : "ink");
      const place = cell.start ? x + 2 : x + width - PAD;
      return [
        ...(cell.colour ? [box(x, y, width - 2, TALL - 2, css(cell.colour), { rx: 3 })] : []),
        words(place, y + TALL / 2 - 1, text, {
          size: FONT,
          ink: colour,
          anchor: cell.start ? "start" : "end",
        }),
      ];
    }),
  );
  const width = widths.reduce((sum, one) => sum + one, 0);
  return { width: Math.max(1, width), height: Math.max(1, rows.length * TALL), marks };
}
