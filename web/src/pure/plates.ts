// What the views draw when they leave the page: an answer, a table of neurons, a wall of heads.

import { cividis, puOr } from "./colour";
import { box, ink, stacked, wide, words, prose, type Drawing, type Mark } from "./drawing";
import { cellMarks, colourOf, scaleDrawing, short, type Pixels } from "./heat";
import { matrixOf, type Matrix } from "./matrix";
import { digits, isolated, percent } from "./text";

export interface Said {
  readonly name: string;
  readonly probability: number;
}

/** The answer and its symbols, each with how sure the model was; the one looked at is marked. */
export function answerDrawing(text: string, steps: readonly Said[], here: number): Drawing {
  const ROOM = 900;
  let [x, y] = [0, 0];
  const marks: Mark[] = [];
  steps.forEach(({ name, probability }, place) => {
    const shown = short(name);
    const width = Math.max(64, wide(shown, 16) + 28);
    if (x + width > ROOM && x > 0) [x, y] = [0, y + 68];
    const edge = { rx: 7, stroke: ink(place === here ? "gold" : "line"), "stroke-width": 1.5 };
    const middle = { anchor: "middle" } as const;
    marks.push(
      box(x + 1, y + 1, width, 58, ink("sheet"), edge),
      words(x + 1 + width / 2, y + 18, isolated(shown), { size: 16, ...middle }),
      box(x + 11, y + 33, width - 20, 4, ink("line"), { rx: 2 }),
      box(x + 11, y + 33, (width - 20) * probability, 4, ink("accent"), { rx: 2 }),
      words(x + 1 + width / 2, y + 48, percent(probability), {
        size: 11,
        ink: ink("soft"),
        ...middle,
      }),
    );
    x += width + 8;
  });
  const row = { width: ROOM, height: y + 62, marks };
  return stacked([prose(isolated(text), ROOM, { size: 26, face: "serif" }), row], 16);
}

/** Names with a share each, as bars. */
export function sharesDrawing(title: string, shares: readonly Said[]): Drawing {
  const ROOM = 620;
  const left = Math.min(240, Math.max(60, ...shares.map(({ name }) => wide(short(name), 14)))) + 14;
  const marks: Mark[] = [words(0, 10, title, { size: 15, bold: true })];
  shares.forEach(({ name, probability }, place) => {
    const y = 38 + place * 24;
    const long = ROOM - left - 60;
    marks.push(
      words(0, y, isolated(short(name)), { size: 14 }),
      box(left, y - 5, long, 10, ink("line"), { rx: 5 }),
      box(left, y - 5, Math.max(2, long * probability), 10, ink("accent"), { rx: 5 }),
      words(ROOM, y, percent(probability), { size: 13, anchor: "end", ink: ink("soft") }),
    );
  });
  return { width: ROOM, height: 38 + shares.length * 24, marks };
}

export interface NeuronRows {
  readonly query: string;
  readonly vector: readonly number[];
  readonly names: readonly string[];
  readonly keys: readonly (readonly number[])[];
  readonly added: readonly (readonly number[])[];
  readonly scores: readonly (number | null)[];
  readonly weights: readonly number[];
  readonly formula: string;
  readonly normaliser: string;
  readonly reach: { readonly vectors: number; readonly products: number };
}

/** A row for each key: its vector, what each neuron adds, the score, the weight. */
export function neuronsDrawing(shown: NeuronRows, pixels: Pixels): Drawing {
  const TALL = 28;
  const left =
    Math.min(200, Math.max(50, ...shown.names.map((name) => wide(short(name), 14)))) + 16;
  const cell = Math.max(1, Math.min(22, 380 / Math.max(1, shown.vector.length)));
  const strip = cell * shown.vector.length;
  const second = left + strip + 24;
  const sums = second + strip + 70;
  const soft = { size: 13, ink: ink("soft") };
  const marks: Mark[] = [
    words(left, 10, "k", soft),
    words(second, 10, shown.formula, soft),
    words(sums, 10, "sum", { ...soft, anchor: "end" }),
    words(sums + 90, 10, shown.normaliser, { ...soft, anchor: "end" }),
    words(0, 40, isolated(short(shown.query)), { size: 14, bold: true }),
    words(second, 40, "q, the query", soft),
  ];
  const paint = (
    table: readonly (readonly number[])[],
    x: number,
    y: number,
    scale: number,
  ): void => {
    const matrix = matrixOf(table);
    const place = { x, y, cell, tall: TALL, gap: 0 };
    marks.push(...cellMarks(matrix, "signed", scale, place, pixels));
  };
  paint([shown.vector], left, 28, shown.reach.vectors);
  const top = 66;
  paint(shown.keys, left, top, shown.reach.vectors);
  paint(shown.added, second, top, shown.reach.products);
  shown.names.forEach((name, place) => {
    const y = top + (place + 0.5) * TALL;
    const weight = shown.weights[place] ?? 0;
    const score = shown.scores[place] ?? null;
    const colour = colourOf(weight, "weights", 1);
    marks.push(
      box(0, y + TALL / 2 - 1.5, sums + 96, 3, ink("paper")),
      words(0, y, isolated(short(name)), { size: 14 }),
      words(sums, y, score === null ? "−∞" : digits(score, 2), { size: 13, anchor: "end" }),
      box(sums + 30, y - 11, 64, 22, colour, { rx: 4 }),
      words(sums + 62, y, percent(weight), {
        size: 13,
        anchor: "middle",
        ink: weight < 0.5 ? "#fff" : "#000",
      }),
    );
  });
  const body = { width: sums + 100, height: top + shown.names.length * TALL, marks };
  const { vectors, products } = shown.reach;
  const scales = [
    scaleDrawing("signed", vectors, "q, k"),
    scaleDrawing("signed", products, shown.formula),
    scaleDrawing("weights", 1, shown.normaliser),
  ];
  return stacked([body, ...scales], 12);
}

export interface Wall {
  readonly title: string;
  readonly layers: readonly { readonly name: string; readonly tiles: readonly Matrix[] }[];
}

/** Every head of every layer as a tile; queries run down, keys across. */
export function wallDrawing(walls: readonly Wall[], pixels: Pixels): Drawing {
  const [SIDE, GAP, LEFT, EACH] = [84, 10, 110, 8];
  const drawings = walls.map(({ title, layers }): Drawing => {
    const marks: Mark[] = [words(0, 10, title, { size: 16, bold: true })];
    let y = 30;
    let most = 0;
    for (const { name, tiles } of layers) {
      marks.push(words(0, y + SIDE / 2, name, { size: 13, ink: ink("soft") }));
      tiles.forEach((tile, at) => {
        const [column, row] = [at % EACH, Math.floor(at / EACH)];
        const place = { x: LEFT + column * (SIDE + GAP), y: y + row * (SIDE + 24) };
        const [cell, tall] = [SIDE / tile.columns, SIDE / tile.rows];
        most = Math.max(most, column + 1);
        marks.push(
          {
            tag: "image",
            at: {
              ...place,
              width: cell * tile.columns,
              height: tall * tile.rows,
              preserveAspectRatio: "none",
              "image-rendering": "pixelated",
              href: pixels(tile, "weights", 1),
            },
          },
          words(place.x + SIDE / 2, place.y + SIDE + 9, String(at + 1), {
            size: 11,
            anchor: "middle",
            ink: ink("soft"),
          }),
        );
      });
      y += Math.ceil(tiles.length / EACH) * (SIDE + 24);
    }
    return { width: LEFT + most * (SIDE + GAP), height: y, marks };
  });
  return stacked([...drawings, scaleDrawing("weights", 1, "weight")], 26);
}

/** A number of a lesson on the colour it stands for. */
export function tint(cell: unknown, shares: boolean, most: number, isDark = false) {
  if (typeof cell === "boolean") return cividis(cell ? 1 : 0);
  if (typeof cell !== "number") return null;
  return shares ? cividis(cell) : puOr((cell / (most || 1)) * 0.8, isDark);
}
