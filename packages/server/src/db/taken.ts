import { failField } from '../kernel/app-error.ts'

/** Runs a change; what the database refuses because another row has it (a unique index, by name) is 422 on `field`. */
export async function refuseTaken<T>(
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
