import { AppError } from './app-error.ts'

/** Concerns one item of a batch and nobody else's. */
export class LoneError extends AppError {}

/**
 * What the database says of data that it does not take (SQLSTATE classes 22 and 23), whoever else is in the statement.
 */
export const isOfData = (e: unknown) =>
  e instanceof LoneError || (e instanceof Error && 'code' in e && /^2[23][0-9A-Z]{3}$/.test(String(e.code)))

/**
 * Writes many items at once. Where the data of one is refused the halves are written apart, so that only the offender
 * fails; any other failure is of all.
 */
export async function writeInHalves<T>(
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
    await writeInHalves(items.slice(0, middle), { write, refused })
    await writeInHalves(items.slice(middle), { write, refused })
  }
}
