// Where things stand: cells under a pointer, the cursor's next place, ticks, curves, and the beam's tree.

import type { Expansion } from "../schema";

export interface Place {
  readonly row: number;
  readonly column: number;
}

/** Where an arrow key takes the cursor; null when the key is not one of ours. */
export function moved(key: string, place: Place, rows: number, columns: number): Place | null {
  const clamp = (value: number, size: number): number => Math.min(Math.max(value, 0), size - 1);
  const { row, column } = place;
  switch (key) {
    case "ArrowUp":
      return { row: clamp(row - 1, rows), column };
    case "ArrowDown":
      return { row: clamp(row + 1, rows), column };
    case "ArrowLeft":
      return { row, column: clamp(column - 1, columns) };
    case "ArrowRight":
      return { row, column: clamp(column + 1, columns) };
    case "Home":
      return { row, column: 0 };
    case "End":
      return { row, column: columns - 1 };
    case "PageUp":
      return { row: clamp(row - 10, rows), column };
    case "PageDown":
      return { row: clamp(row + 10, rows), column };
    default:
      return null;
  }
}

/** The side of a cell, so that the matrix fits: whole pixels between the two bounds. */
export function cellSize(
  rows: number,
  columns: number,
  room: { width: number; height: number },
  bounds: { least: number; most: number },
): number {
  const fitting = Math.floor(Math.min(room.width / columns, room.height / rows));
  return Math.max(bounds.least, Math.min(bounds.most, fitting));
}

/** Cells that are wider than high where there is room beside them, and bands where they would be too flat to see. */
export function cellSides(
  rows: number,
  columns: number,
  room: { width: number; height: number },
  bounds: { least: number; most: number },
): { readonly wide: number; readonly tall: number } {
  const side = cellSize(rows, columns, room, bounds);
  const fitting = Math.floor(room.width / columns);
  if (side < 12) {
    const flat = (room: number): number => Math.max(side, Math.min(24, room));
    return { wide: flat(fitting), tall: flat(Math.floor(room.height / rows)) };
  }
  return {
    wide: Math.max(side, Math.min(bounds.most, fitting, Math.floor(1.7 * side))),
    tall: side,
  };
}

/** Every how many labels one can be written without touching the next. */
export function labelStride(cell: number, needed: number): number {
  return Math.max(1, Math.ceil(needed / cell));
}

/** About `count` round numbers between two. */
export function ticks(low: number, high: number, count = 5): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((by) => by * power).find((by) => by >= rough)!;
  const found: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at++) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}

/** An SVG path through points. */
export function path(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], n) => `${n ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** A line between two columns that leaves and arrives level. */
export function bend(x0: number, y0: number, x1: number, y1: number): string {
  const middle = (x0 + x1) / 2;
  const numbers = [x0, y0, middle, y0, middle, y1, x1, y1].map((number) => number.toFixed(1));
  const [a, b, c, d, e, f, g, h] = numbers;
  return `M${a} ${b}C${c} ${d} ${e} ${f} ${g} ${h}`;
}

export interface TreeNode extends Expansion {
  readonly step: number;
  readonly order: number;
  /** The number of the node before it in the list, -1 for the root. */
  readonly before: number;
}

/** Every candidate with the node it grew from. */
export function tree(steps: readonly (readonly Expansion[])[]): TreeNode[] {
  const nodes: TreeNode[] = [];
  let slots = new Map<number, number>();
  steps.forEach((expansions, step) => {
    const next = new Map<number, number>();
    expansions.forEach((node, order) => {
      const before = step === 0 ? -1 : (slots.get(node.parent) ?? -1);
      if (node.fate === "kept") next.set(node.slot, nodes.length);
      nodes.push({ ...node, step, order, before });
    });
    slots = next;
  });
  return nodes;
}

/** The finished hypotheses: the node that each ended in, the most probable first. */
export function finished(nodes: readonly TreeNode[]): number[] {
  const last = nodes.findLastIndex(({ winner }) => winner);
  return nodes
    .flatMap(({ fate }, at) => (fate === "ended" || at === last ? [at] : []))
    .sort((a, b) => (nodes[b]!.total ?? -Infinity) - (nodes[a]!.total ?? -Infinity));
}

/** The symbols on the way from the root to a node. */
export function spelled(nodes: readonly TreeNode[], at: number): string[] {
  const symbols: string[] = [];
  for (let now = at; now >= 0; now = nodes[now]!.before) symbols.unshift(nodes[now]!.symbol);
  return symbols;
}
