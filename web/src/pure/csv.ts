// Tables that leave the page. A cell that a spreadsheet would run as a formula is made into text.

export type Cell = string | number;

/** A text that begins like a formula gets an apostrophe in front, so that no spreadsheet runs it. */
export function neutral(text: string): string {
  return /^[\s\u0000]*[=+\-@\t\r\n|%]/.test(text) ? `'${text}` : text;
}

export function csv(rows: readonly (readonly Cell[])[]): string {
  return rows.map(csvRow).join("");
}

export function csvRow(row: readonly Cell[]): string {
  return row.map(cell).join(",") + "\r\n";
}

/** The shortest digits that are read back as the same float32, where it is one: 0.987, not 0.98699998856. */
export function exact(value: number): string {
  if (Math.fround(value) !== value || Number.isInteger(value)) return String(value);
  for (const digits of [6, 7, 8]) {
    const near = Number(value.toPrecision(digits));
    if (Math.fround(near) === value) return String(near);
  }
  return String(Number(value.toPrecision(9)));
}

function cell(value: Cell): string {
  if (typeof value === "number") return Number.isFinite(value) ? exact(value) : "";
  const text = neutral(value);
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
