// Numbers as lines and as bars, with their axes and their names.

import { box, fitting, ink, line, wide, words, wrapped, type Drawing, type Mark } from "./drawing";
import { path, ticks } from "./layout";
import { digits, isolated } from "./text";

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
  /** The name of one of the page's colours, or a colour. */
  readonly tone: string;
  readonly dashed?: boolean;
  /** A dot at each point, joined or not. */
  readonly dots?: "joined" | "apart";
}

export interface Plot {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly x?: string;
  readonly y?: string;
  readonly mark?: number | undefined;
  /** How far the x axis goes, where that is known before the curve gets there. */
  readonly until?: number | undefined;
  readonly logarithmic?: "x" | "y" | "both";
  readonly width?: number;
  readonly height?: number;
}

const SMALL = 14;
const SOFT = { size: SMALL, ink: ink("soft") };

/** Where the numbers of a plot stand on it: so that a value can be read back from a position. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  x(value: number): number;
  y(value: number): number;
}

/** Colours that can be told apart, by light and by hue, on either paper. */
export const TONES = ["accent", "gold", "bad", "good", "soft", "ink"] as const;

export function tone(name: string): string {
  return name.startsWith("#") || name.startsWith("rgb") ? name : ink(name);
}

export function plotDrawing(plot: Plot): Drawing & { readonly frame: Frame } {
  const { width = 520, logarithmic } = plot;
  const about = plot.y ? `${plot.title} (${plot.y})` : plot.title;
  const head = heading(about, plot.lines, width);
  const logX = logarithmic === "x" || logarithmic === "both";
  const logY = logarithmic === "y" || logarithmic === "both";
  const shown = plot.lines.map((one) => ({
    ...one,
    points: one.points.filter(
      ([a, b]) => Number.isFinite(a) && Number.isFinite(b) && (!logX || a > 0) && (!logY || b > 0),
    ),
  }));
  const all = shown.flatMap((one) => one.points);
  const known = plot.until === undefined ? [] : [plot.until];
  const across = extent([...all.map(([a]) => a), ...known], logX);
  const along = rounded(
    extent(
      all.map(([, b]) => b),
      logY,
    ),
    logY,
  );
  const heights = marked(along, logY, 4);
  const left = 14 + Math.max(...heights.map((value) => wide(tick(value), SMALL)));
  const [right, top, bottom] = [20, head.bottom + 4, plot.x ? 48 : 30];
  const height = top + bottom + (plot.height ?? 200);
  const x = placer(across, left, width - right, logX);
  const y = placer(along, height - bottom, top, logY);
  const marks: Mark[] = [
    ...head.marks,
    ...heights.flatMap((value) => [
      line(left, y(value), width - right, y(value), ink("line")),
      words(left - 8, y(value), tick(value), { ...SOFT, anchor: "end" }),
    ]),
    ...marked(across, logX, 5).map((value) =>
      words(x(value), height - bottom + 15, tick(value), { ...SOFT, anchor: "middle" }),
    ),
    ...(plot.x
      ? [words((left + width - right) / 2, height - 10, plot.x, { ...SOFT, anchor: "middle" })]
      : []),
    ...shown.flatMap((one) => drawn(one, x, y)),
  ];
  if (plot.mark !== undefined) {
    const at = x(plot.mark);
    marks.push({
      ...line(at, top, at, height - bottom, ink("ink")),
      at: { ...line(at, top, at, height - bottom, ink("ink")).at, "stroke-dasharray": "3 3" },
    });
  }
  const frame = { left, right: width - right, top, bottom: height - bottom, x, y };
  return { width, height, marks, frame };
}

/** For each line its point nearest to a place on the x axis. */
export function nearest(
  lines: readonly Line[],
  frame: Frame,
  place: number,
): { readonly line: Line; readonly point: readonly [number, number] }[] {
  return lines.flatMap((line) => {
    const far = ([x]: readonly [number, number]): number => Math.abs(frame.x(x) - place);
    const [first, ...others] = line.points;
    if (!first) return [];
    return [
      { line, point: others.reduce((best, one) => (far(one) < far(best) ? one : best), first) },
    ];
  });
}

function drawn(one: Line, x: (at: number) => number, y: (at: number) => number): Mark[] {
  const points = one.points.map(([a, b]) => [x(a), y(b)] as const);
  const stroke = tone(one.tone);
  const curve: Mark = {
    tag: "path",
    at: {
      d: path(points),
      fill: "none",
      stroke,
      "stroke-width": 2.2,
      "stroke-linejoin": "round",
      ...(one.dashed ? { "stroke-dasharray": "5 4" } : {}),
    },
  };
  const dots = one.dots
    ? points.map(([cx, cy]): Mark => ({ tag: "circle", at: { cx, cy, r: 4.5, fill: stroke } }))
    : [];
  return [...(points.length > 1 && one.dots !== "apart" ? [curve] : []), ...dots];
}

/** The title and what the colours stand for, in as many lines as they need; and where the plot may begin. */
function heading(
  title: string,
  lines: readonly { name: string; tone: string; dashed?: boolean }[],
  width: number,
): { marks: Mark[]; bottom: number } {
  const titles = wrapped(title, width, 16);
  const marks = titles.map((text, at) => words(0, 10 + at * 22, text, { size: 16, bold: true }));
  let [x, y] = [0, 14 + titles.length * 22];
  for (const one of lines) {
    const long = 42 + wide(one.name, SMALL);
    if (x > 0 && x + long > width) [x, y] = [0, y + 20];
    const dash = one.dashed ? { "stroke-dasharray": "5 4" } : {};
    const stroke = { stroke: tone(one.tone), "stroke-width": 3, ...dash };
    marks.push({ tag: "line", at: { x1: x, x2: x + 18, y1: y, y2: y, ...stroke } });
    marks.push(words(x + 24, y, one.name, SOFT));
    x += long;
  }
  return { marks, bottom: y + (lines.length ? 16 : 0) };
}

function extent(numbers: readonly number[], isLog: boolean): readonly [number, number] {
  if (!numbers.length) return isLog ? [1, 10] : [0, 1];
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  if (isLog) return low === high ? [low / 2, high * 2] : [low, high];
  const from = low > 0 && low < high * 0.6 ? 0 : low;
  return from === high ? [Math.min(0, from), Math.max(from, 0) || 1] : [Math.min(0, from), high];
}

/** The axis out to the marks on either side, so that no curve runs beyond the last number. */
function rounded(
  [low, high]: readonly [number, number],
  isLog: boolean,
): readonly [number, number] {
  if (isLog) return [low, high];
  const [first, second] = ticks(low, high, 4);
  if (first === undefined || second === undefined) return [low, high];
  const step = second - first;
  const exact = (value: number): number => Number(value.toPrecision(12));
  return [exact(Math.floor(low / step + 1e-9) * step), exact(Math.ceil(high / step - 1e-9) * step)];
}

function placer(
  [low, high]: readonly [number, number],
  from: number,
  to: number,
  isLog: boolean,
): (value: number) => number {
  const of = isLog ? Math.log10 : (value: number): number => value;
  return (value) => from + ((of(value) - of(low)) / (of(high) - of(low) || 1)) * (to - from);
}

function marked([low, high]: readonly [number, number], isLog: boolean, count: number): number[] {
  if (!isLog) return ticks(low, high, count);
  const powers = Math.log10(high) - Math.log10(low);
  const step = Math.max(1, Math.ceil(powers / count));
  const found: number[] = [];
  for (
    let power = Math.ceil(Math.log10(low) - 1e-9);
    power <= Math.log10(high) + 1e-9;
    power += step
  )
    found.push(10 ** power);
  return found.length > 1 ? found : [low, high];
}

function tick(value: number): string {
  if (Number.isInteger(value)) return digits(value);
  return digits(value, 2).replace(/(\.\d*[1-9])0+$/, "$1");
}

export interface Bars {
  readonly title: string;
  readonly groups: readonly string[];
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[];
  readonly width?: number;
}

/** Groups of bars from a common line, each with its number when there is room. */
export function barsDrawing(bars: Bars): Drawing {
  const { width = 760 } = bars;
  const LINES = 3; // of the name of a group
  let deepest = 0;
  const lines = bars.series.map((one, at) => ({ name: one.name, tone: TONES[at % TONES.length]! }));
  const head = heading(bars.title, lines.length > 1 ? lines : [], width);
  const [left, top, HEIGHT] = [8, head.bottom + 14, 170];
  const all = bars.series.flatMap((one) => one.values).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const y = (value: number): number => top + ((high - value) / (high - low || 1)) * HEIGHT;
  const each = (width - 2 * left) / Math.max(1, bars.groups.length);
  const thick = Math.min(44, (each - 12) / Math.max(1, bars.series.length));
  const marks: Mark[] = [...head.marks, line(0, y(0), width, y(0), ink("edge"))];
  const foot = y(low) + (low < 0 ? 16 : 0);
  bars.groups.forEach((name, group) => {
    const start = left + group * each + (each - thick * bars.series.length) / 2;
    bars.series.forEach((one, at) => {
      const value = one.values[group];
      if (value === undefined || !Number.isFinite(value)) return;
      const x = start + at * thick;
      const size = Math.max(1, Math.abs(y(value) - y(0)));
      marks.push(
        box(x, Math.min(y(0), y(value)), thick - 3, size, tone(lines[at]!.tone), { rx: 2 }),
      );
      if (thick >= 30) {
        const by = value < 0 ? 9 : -9;
        const text = digits(value, Math.abs(value) < 10 ? 2 : 1);
        marks.push(words(x + (thick - 3) / 2, y(value) + by, text, { size: 13, anchor: "middle" }));
      }
    });
    wrapped(name, each - 6, SMALL)
      .slice(0, LINES)
      .forEach((part, at) => {
        deepest = Math.max(deepest, at);
        marks.push(
          words(
            left + (group + 0.5) * each,
            foot + 16 + 17 * at,
            isolated(fitting(part, SMALL, each)),
            {
              size: SMALL,
              anchor: "middle",
              ink: ink("soft"),
            },
          ),
        );
      });
  });
  return { width, height: foot + 30 + 17 * deepest, marks };
}
