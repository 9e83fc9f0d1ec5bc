// The beginning of what may be very long.

/** At most so many rows, and whether there are more; what is not taken is never made. */
export function taken<Row>(
  rows: Iterable<Row>,
  most: number,
): { readonly rows: readonly Row[]; readonly isMore: boolean } {
  const found: Row[] = [];
  for (const row of rows) {
    if (found.length === most) return { rows: found, isMore: true };
    found.push(row);
  }
  return { rows: found, isMore: false };
}
