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

function cell(value: Cell): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = neutral(value);
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
