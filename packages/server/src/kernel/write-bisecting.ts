import { AppError } from './app-error.ts'

/** An error of one item of a batch only. */
export class LoneError extends AppError {}

/** True for an error in the data of an item: a `LoneError`, or SQLSTATE class 22 or 23 from the database. */
export const isOfData = (e: unknown) =>
  e instanceof LoneError || (e instanceof Error && 'code' in e && /^2[23][0-9A-Z]{3}$/.test(String(e.code)))

/**
 * Writes many items at once. If the data of one is refused, the halves are written separately, so that only that item
 * fails. Any other error fails all items.
 */
export async function writeBisecting<T>(
  items: readonly T[],
  {
    write,
    refused,
  }: { write: (part: readonly T[]) => Promise<void>; refused: (part: readonly T[], e: unknown) => void },
): Promise<void> {
  try {
    await write(items)
  } catch (e) {
    if (items.length < 2 || !isOfData(e)) return refused(items, e)
    const middle = items.length >> 1
    await writeBisecting(items.slice(0, middle), { write, refused })
    await writeBisecting(items.slice(middle), { write, refused })
  }
}
