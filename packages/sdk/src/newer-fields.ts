import { ApiError } from './errors.ts'

type Newer = { sent_at: string }

/**
 * Sends a report with fields that were introduced with `sent_at`. A server of an earlier version refuses them by name
 * and gets the report without them, so that a newer agent works with an older server.
 */
export async function withNewer<T>(newer: Newer, send: (newer: Partial<Newer>) => Promise<T>): Promise<T> {
  try {
    return await send(newer)
  } catch (e) {
    if (!(e instanceof ApiError && e.errors.some(({ field }) => field === 'sent_at'))) throw e
    return send({})
  }
}
