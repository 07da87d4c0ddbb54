import { ApiError } from './errors.ts'

type Newer = { sent_at: string }

/**
 * Sends a report with fields that came with `sent_at`. A server of an earlier version refuses them by name, and gets
 * the report without: an agent that is newer than its server is not locked out.
 */
export async function withNewer<T>(newer: Newer, send: (newer: Partial<Newer>) => Promise<T>): Promise<T> {
  try {
    return await send(newer)
  } catch (e) {
    if (!(e instanceof ApiError && e.errors.some(({ field }) => field === 'sent_at'))) throw e
    return send({})
  }
}
