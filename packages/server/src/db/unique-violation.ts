import { failField } from '../kernel/app-error.ts'

/** Runs a change. A violation of this unique index becomes a 422 error on `field`. */
export async function mapUniqueViolation<T>(
  field: string,
  index: string,
  work: () => Promise<T>,
  message = 'is already taken',
): Promise<T> {
  try {
    return await work()
  } catch (e) {
    const { code, constraint } = e as { code?: unknown; constraint?: unknown }
    if (code === '23505' && constraint === index) failField(field, message)
    throw e
  }
}

/** Retries if another transaction took a name between check and write; the retry sees that name. */
export async function unlessTaken<T>(work: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++)
    try {
      return await work()
    } catch (e) {
      if (n === 3 || (e as { code?: unknown }).code !== '23505') throw e
    }
}
