// What leaves the page. A view says how it is drawn, its table and its Python; every file is made from these.

import { table as colours, type Palette } from "../pure/colour";
import { csvRow, type Cell } from "../pure/csv";
import {
  framed,
  svgOf,
  type Attributes,
  type Drawing,
  type Inks,
  type Mark,
  type Tag,
} from "../pure/drawing";
import type { Matrix } from "../pure/matrix";
import { GOLD } from "../pure/places";
import { standalone } from "../pure/standalone";

export interface Leaving {
  readonly title: string;
  readonly notes: readonly string[];
  readonly draw: () => Drawing;
  /** Row by row, since there may be thousands. */
  readonly table: () => Iterable<readonly Cell[]>;
  readonly python: () => string;
}

export const FILES = ["PNG", "SVG", "CSV", "HTML"] as const;
export type File = (typeof FILES)[number];

const FINEST = 60_000_000; // pixels that a canvas can surely hold
const NAMES =
  "paper sheet sunk ink soft line edge accent accent-ink glow gold bad bad-sheet good".split(" ");

export async function save(kind: File, name: string, leaving: Leaving): Promise<void> {
  const file = `${name}.${kind.toLowerCase()}`;
  if (kind === "CSV") return saveBlob(await csvOf(leaving.table()), file);
  const [inks, drawing] = byDay(() => [
    inksNow(),
    framed(leaving.draw(), leaving.title, leaving.notes),
  ]);
  const svg = svgOf(drawing, inks);
  if (kind === "SVG") return saveText(svg, file, "image/svg+xml");
  if (kind === "PNG") return saveBlob(await pngOf(svg, drawing), file);
  const leaf = { title: leaving.title, svg, table: leaving.table(), python: leaving.python() };
  saveText(standalone(leaf, inks), file, "text/html");
}

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveText(text: string, name: string, kind: string): void {
  saveBlob(new Blob([text], { type: `${kind};charset=utf-8` }), name);
}

/** Written a little at a time, so that the page stays awake over millions of cells. */
async function csvOf(rows: Iterable<readonly Cell[]>): Promise<Blob> {
  const parts: string[] = [];
  let since = performance.now();
  for (const row of rows) {
    parts.push(csvRow(row));
    if (performance.now() - since < 50) continue;
    await new Promise((go) => setTimeout(go));
    since = performance.now();
  }
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}

/** The drawing in pixels, twice as fine as on the screen where it is not too large. */
async function pngOf(svg: string, { width, height }: Drawing): Promise<Blob> {
  const picture = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    picture.src = address;
    await picture.decode();
    const ratio = Math.min(
      2,
      Math.sqrt(FINEST / (width * height)),
      16_000 / width,
      16_000 / height,
    );
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (!blob) throw new Error("This picture is too large for the browser.");
    return blob;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** What is drawn for a file is light, as paper is: it goes into documents and on slides. */
function byDay<Drawn>(draw: () => Drawn): Drawn {
  const root = document.documentElement;
  const before = root.dataset["theme"];
  root.dataset["theme"] = "light";
  try {
    return draw();
  } finally {
    root.dataset["theme"] = before ?? "auto";
  }
}

/** The page's colours as they are now. */
function inksNow(): Inks {
  const probe = document.createElement("span");
  document.body.append(probe);
  const found = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(found);
}

/** A picture of one pixel a cell, as a data address. */
export function pixels(matrix: Matrix, palette: Palette, scale: number): string {
  return canvasOf(matrix, palette, scale).toDataURL("image/png");
}

export function canvasOf(
  matrix: Matrix,
  palette: Palette,
  scale: number,
  isDark = false,
): HTMLCanvasElement {
  const colour = new Uint32Array(colours(palette, isDark).buffer);
  const image = new ImageData(matrix.columns, matrix.rows);
  const painted = new Uint32Array(image.data.buffer);
  for (let place = 0; place < painted.length; place++) {
    const value = matrix.values[place]!;
    const share = palette === "signed" ? (value / scale + 1) / 2 : value;
    painted[place] = colour[Math.round(Math.min(Math.max(share, 0), 1) * 255)]!;
  }
  const sheet = document.createElement("canvas");
  sheet.width = matrix.columns;
  sheet.height = matrix.rows;
  sheet.getContext("2d")!.putImageData(image, 0, 0);
  return sheet;
}

const TAGS: readonly string[] = ["g", "rect", "line", "path", "circle", "text"] satisfies Tag[];
const SHAPE = "x y x1 x2 y1 y2 cx cy r rx width height d dx dy transform stroke-dasharray".split(
  " ",
);
const STYLE = "fill stroke stroke-width opacity font-size font-weight text-anchor".split(" ");

/** A drawing that the page itself shows, with the styles it has there. */
export function drawingOf(shown: SVGSVGElement): Drawing {
  const { width, height } = shown.viewBox.baseVal;
  return { width, height, marks: marksOf(shown) };
}

function marksOf(parent: Element): Mark[] {
  return [...parent.children].flatMap((element): Mark[] => {
    if (!TAGS.includes(element.tagName)) return [];
    const at = attributesOf(element);
    const tag = element.tagName as Tag;
    if (tag === "g") return [{ tag, at: inherited(at), inside: marksOf(element) }];
    return [tag === "text" ? { tag, at, text: element.textContent ?? "" } : { tag, at }];
  });
}

function attributesOf(element: Element): Attributes {
  const style = getComputedStyle(element);
  const shape = SHAPE.flatMap((name) => {
    const value = element.getAttribute(name);
    return value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries([
    ...shape,
    ...STYLE.map((name) => [name, style.getPropertyValue(name)] as const),
  ]);
}

/** A group only moves what is inside it: each mark brings its own colours. */
function inherited({ transform }: Attributes): Attributes {
  return transform === undefined ? {} : { transform };
}

/** Copy, with the old way where a page may not use the clipboard. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** Gold of so many dots, each as strong as its share. */
export function wash(shares: Float32Array, width: number, height: number): string {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const pen = canvas.getContext("2d");
  if (!pen) return "";
  const sheet = pen.createImageData(width, height);
  shares.forEach((share, dot) => sheet.data.set([...GOLD, Math.round(255 * share)], dot * 4));
  pen.putImageData(sheet, 0, 0);
  return canvas.toDataURL("image/png");
}
