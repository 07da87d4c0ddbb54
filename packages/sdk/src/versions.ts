import { jitter, sleep } from './backoff.ts'
import { ApiError } from './errors.ts'
import { etagOf, type Reply } from './send.ts'

const tags = new WeakMap<object, string>()

/** Returns the body of a response, and remembers its ETag. */
export function tagged<T>(reply: Reply<T>): T | undefined {
  const { body } = reply
  const etag = etagOf(reply)
  if (etag !== null && typeof body === 'object' && body !== null) tags.set(body, etag)
  return body
}

/** Returns the ETag of this response body, for `ifMatch`. */
export const versionOf = (body: object): string | undefined => tags.get(body)

/**
 * Number of attempts after conflicts, and the first pause in seconds. In total they last longer than the lag of a
 * replica.
 */
const attempts = 6
const firstWait = 0.05

/**
 * Changes a part of an object that can only be replaced as a whole: reads it and writes it back, if it has not changed
 * meanwhile. Otherwise it starts again.
 */
export async function change<T extends object, R>(
  read: () => Promise<T>,
  write: (whole: T, options: { ifMatch: string | undefined }) => Promise<R>,
): Promise<R> {
  for (let attempt = 1; ; attempt++) {
    const whole = await read()
    try {
      return await write(whole, { ifMatch: versionOf(whole) })
    } catch (e) {
      if (attempt === attempts || !isStale(e)) throw e
      await sleep(jitter(firstWait * 2 ** (attempt - 1), Math.random))
    }
  }
}

const isStale = (e: unknown): boolean =>
  e instanceof ApiError && (e.errors ?? []).some(({ field }) => field === 'If-Match')
