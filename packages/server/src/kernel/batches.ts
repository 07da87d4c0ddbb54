/**
 * Yields all rows in the order of a key, `size` at a time. `read` returns the rows after a row, or the first ones.
 * Empty batches are left out.
 */
export async function* inBatches<Row>(
  size: number,
  read: (after: Row | undefined, size: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[], void> {
  for (let after: Row | undefined; ; ) {
    const rows = await read(after, size)
    if (rows.length > 0) yield rows
    if (rows.length < size) return
    after = rows.at(-1)
  }
}
