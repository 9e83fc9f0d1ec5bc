// A picture as values: marks on a sheet. The page shows them and a file holds them; text stays text in both.

export type Tag = "g" | "rect" | "line" | "path" | "circle" | "text" | "image";
export type Attributes = Readonly<Record<string, string | number>>;

export interface Mark {
  readonly tag: Tag;
  readonly at: Attributes;
  readonly text?: string;
  readonly inside?: readonly Mark[];
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly marks: readonly Mark[];
}

/** The page's colours by name, as `var(--ink)` asks for them. */
export type Inks = Readonly<Record<string, string>>;

const SANS = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const SERIF = "Palatino, 'DejaVu Serif', Georgia, serif";

export interface Lettering {
  readonly size?: number;
  readonly anchor?: "start" | "middle" | "end";
  readonly ink?: string;
  readonly bold?: boolean;
  readonly face?: "sans" | "serif" | "mono";
  readonly turn?: number;
}

export function ink(name: string): string {
  return `var(--${name})`;
}

/** Words whose middle stands at this height. */
export function words(x: number, y: number, text: string, how: Lettering = {}): Mark {
  const { size = 14, anchor = "start", bold = false, face = "sans", turn } = how;
  return {
    tag: "text",
    text,
    at: {
      ...(turn === undefined ? { x, y } : { transform: `translate(${x} ${y}) rotate(${turn})` }),
      dy: "0.35em",
      fill: how.ink ?? ink("ink"),
      "font-size": size,
      ...(anchor === "start" ? {} : { "text-anchor": anchor }),
      ...(bold ? { "font-weight": 600 } : {}),
      ...(face === "sans" ? {} : { "font-family": face === "serif" ? SERIF : "monospace" }),
    },
  };
}

export function box(
  x: number,
  y: number,
  width: number,
  height: number,
  fill: string,
  more: Attributes = {},
): Mark {
  return { tag: "rect", at: { x, y, width, height, fill, ...more } };
}

export function line(x1: number, y1: number, x2: number, y2: number, stroke: string): Mark {
  return { tag: "line", at: { x1, y1, x2, y2, stroke } };
}

function placed(drawing: Drawing, x: number, y: number): Mark {
  return { tag: "g", at: { transform: `translate(${x} ${y})` }, inside: drawing.marks };
}

/** One below the other. */
export function stacked(drawings: readonly Drawing[], gap = 24): Drawing {
  let y = 0;
  const marks = drawings.map((one) => {
    const mark = placed(one, 0, y);
    y += one.height + gap;
    return mark;
  });
  const width = Math.max(1, ...drawings.map((one) => one.width));
  return { width, height: Math.max(1, y - gap), marks };
}

/** Side by side. */
export function beside(drawings: readonly Drawing[], gap = 32): Drawing {
  let x = 0;
  const marks = drawings.map((one) => {
    const mark = placed(one, x, 0);
    x += one.width + gap;
    return mark;
  });
  const height = Math.max(1, ...drawings.map((one) => one.height));
  return { width: Math.max(1, x - gap), height, marks };
}

/** About how wide a text will be; fonts differ, so a little more than most need. */
export function wide(text: string, size: number): number {
  let ems = 0;
  for (const letter of text) {
    if (/\p{M}|[\u2066-\u2069]/u.test(letter)) continue;
    if (
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/.test(
        letter,
      )
    )
      ems += 1;
    else if (letter.codePointAt(0)! > 0xffff) ems += 1.2;
    else if (/[iljtfr.,:;'|! ]/.test(letter)) ems += 0.36;
    else if (/[A-Zmw@%▁■<>+=]/.test(letter)) ems += 0.84;
    else ems += 0.6;
  }
  return ems * size;
}

/** As much of a text as there is room for. */
export function fitting(text: string, size: number, room: number): string {
  const whole = wide(text, size);
  if (whole <= room) return text;
  const letters = [...text];
  const kept = Math.max(1, Math.floor((letters.length * room) / whole) - 1);
  return `${letters.slice(0, kept).join("")}…`;
}

/** A text in lines that are at most so wide. */
export function wrapped(text: string, width: number, size: number): string[] {
  return text.split("\n").flatMap((whole) => {
    const lines = [""];
    for (const word of whole.split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (lines.at(-1) && wide(longer, size) > width) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  });
}

/** Lines of prose as a drawing. */
export function prose(text: string, width: number, how: Lettering = {}): Drawing {
  const { size = 14 } = how;
  const lines = wrapped(text, width, size);
  return {
    width: Math.min(width, Math.max(...lines.map((one) => wide(one, size)))),
    height: lines.length * size * 1.4,
    marks: lines.map((one, at) => words(0, (at + 0.5) * size * 1.4, one, how)),
  };
}

/** The drawing on paper, under its title and what there is to say about it. */
export function framed(drawing: Drawing, title: string, notes: readonly string[] = []): Drawing {
  const MARGIN = 28;
  const inner = Math.max(480, drawing.width);
  const parts = [
    prose(title, inner, { size: 22, face: "serif" }),
    ...notes.filter(Boolean).map((note) => prose(note, inner, { size: 13, ink: ink("soft") })),
  ];
  const head = stacked(parts, 6);
  const body = stacked([head, drawing], 20);
  const [width, height] = [Math.max(inner, body.width) + 2 * MARGIN, body.height + 2 * MARGIN];
  const paper = box(0, 0, width, height, ink("paper"));
  return { width, height, marks: [paper, placed(body, MARGIN, MARGIN)] };
}

/** Text that an XML file may hold: marks escaped, controls that XML forbids left out. */
export function escaped(text: string): string {
  return (
    text
      // eslint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
      .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&apos;")
  );
}

/** The drawing as a file that stands alone: colours are written out, and nothing is fetched. */
export function svgOf(drawing: Drawing, inks: Inks): string {
  const [width, height] = [Math.ceil(drawing.width), Math.ceil(drawing.height)];
  const head =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="${escaped(SANS)}">`;
  return [head, ...drawing.marks.map((mark) => written(mark, inks)), "</svg>", ""].join("\n");
}

function written(mark: Mark, inks: Inks): string {
  const attributes = Object.entries(mark.at)
    .map(([name, value]) => ` ${name}="${escaped(coloured(value, inks))}"`)
    .join("");
  const inside = mark.inside?.map((one) => written(one, inks)).join("\n") ?? "";
  const content = mark.text === undefined ? inside : escaped(mark.text);
  return content
    ? `<${mark.tag}${attributes}>${content}</${mark.tag}>`
    : `<${mark.tag}${attributes}/>`;
}

function coloured(value: string | number, inks: Inks): string {
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  return value.replace(/var\(--([\w-]+)\)/g, (_, name: string) => inks[name] ?? "currentColor");
}
