// A worked lesson on paper: the formula, what was given, every step with its numbers, the picture, the slips.

import { ink, prose, stacked, type Drawing } from "./drawing";
import { heatDrawing, type Pixels } from "./heat";
import { cellText, grid, isShares, type Value } from "./lesson";
import { matrixOf, reach } from "./matrix";
import { pictures, type Lesson, type Stage } from "./picture";
import { tint } from "./plates";
import { sheetDrawing, type Filled } from "./sheet";

export interface Written extends Stage {
  readonly formula: string;
  readonly note: string;
}
export interface Wrong {
  readonly step: string;
  readonly printed: Value;
  readonly right: Value;
  readonly why: string;
}
export interface Whole extends Lesson {
  readonly formula: string;
  readonly given: readonly Written[];
  readonly steps: readonly Written[];
  readonly result: Written;
  readonly slips: readonly Wrong[];
}

const ROOM = 860;

export function lessonDrawing(name: string, lesson: Whole, pixels: Pixels): Drawing {
  const stages = [...lesson.given, ...lesson.steps, lesson.result];
  const loose = lesson.slips.filter((slip) => !stages.some((stage) => stage.name === slip.step));
  return stacked(
    [
      prose(lesson.formula, ROOM, { size: 16, face: "mono" }),
      ...pictures(name, lesson),
      ...stages.map((stage) => {
        const slips = lesson.slips.filter((slip) => slip.step === stage.name);
        const isGiven = lesson.given.includes(stage);
        return written(stage, isGiven ? [] : slips, pixels, stage === lesson.result, isGiven);
      }),
      ...loose.map(wrong),
    ],
    22,
  );
}

function written(
  stage: Written,
  slips: readonly Wrong[],
  pixels: Pixels,
  isLast: boolean,
  isGiven: boolean,
): Drawing {
  const title = isLast ? `Result: ${stage.name}` : isGiven ? `Given: ${stage.name}` : stage.name;
  return stacked(
    [
      prose(title, ROOM, { size: 15, bold: true }),
      ...(stage.formula
        ? [prose(stage.formula, ROOM, { ink: ink("soft"), face: "mono", size: 13 })]
        : []),
      valueDrawing(stage, pixels),
      ...(stage.note ? [prose(stage.note, ROOM, { ink: ink("soft"), size: 13 })] : []),
      ...slips.map(wrong),
    ],
    7,
  );
}

function wrong(slip: Wrong): Drawing {
  const told = (value: Value): string =>
    grid(value)
      .map((row) => row.map(cellText).join("  "))
      .join("; ");
  const text = `Mistake on the slide. Printed: ${told(slip.printed)}. Correct: ${told(slip.right)}. ${slip.why}`;
  return prose(text, ROOM, { ink: ink("bad"), size: 13 });
}

/** Whether a table is better looked at than read. */
export function largeNumbers(value: Value): number[][] | null {
  const cells = grid(value);
  const isLarge = cells.length > 24 || (cells[0]?.length ?? 0) > 16;
  const isNumbers = cells.flat().every((cell) => typeof cell === "number");
  return isLarge && isNumbers ? (cells as number[][]) : null;
}

function valueDrawing(stage: Written, pixels: Pixels): Drawing {
  const { value, rows, columns } = stage;
  const cells = grid(value);
  const shares = isShares(value, stage.name, stage.formula);
  const large = largeNumbers(value);
  if (large) {
    const named = (names: readonly string[], count: number): string[] =>
      Array.from({ length: count }, (_, at) => names[at] ?? String(at + 1));
    const map = {
      matrix: matrixOf(large),
      rows: named(rows, large.length),
      columns: named(columns, large[0]!.length),
      palette: shares ? ("weights" as const) : ("signed" as const),
      rowTitle: "rows",
      columnTitle: "columns",
    };
    return heatDrawing(map, pixels, 24);
  }
  const most = reach(cells.flat().filter((cell) => typeof cell === "number"));
  const isOne = cells.length === 1 && cells[0]!.length === 1;
  const head: Filled[] = columns.map((text) => ({ text, soft: true }));
  return sheetDrawing([
    ...(columns.length ? [[...(rows.length ? [{ text: "" }] : []), ...head]] : []),
    ...cells.map((row, at): Filled[] => [
      ...(rows.length ? [{ text: rows[at] ?? "", soft: true, start: true }] : []),
      ...row.map((cell): Filled => ({
        text: cellText(cell),
        colour: isOne ? null : tint(cell, shares, most),
        start: isOne || typeof cell === "string",
      })),
    ]),
  ]);
}
