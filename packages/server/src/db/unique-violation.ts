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
