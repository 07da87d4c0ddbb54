import { jitter, sleep } from './backoff.ts'
import { ApiError } from './errors.ts'
import { etagOf, type Reply } from './send.ts'

const tags = new WeakMap<object, string>()

/** The body of an answer, which remembers the ETag that it came under. */
export function tagged<T>(reply: Reply<T>): T | undefined {
  const { body } = reply
  const etag = etagOf(reply)
  if (etag !== null && typeof body === 'object' && body !== null) tags.set(body, etag)
  return body
}

/** The ETag under which a client gave out this object: for `ifMatch`. */
export const versionOf = (body: object): string | undefined => tags.get(body)

/**
 * How often a change is begun anew because somebody else was faster, and after how many seconds first: in all it is
 * longer than a replica that was asked may be behind the one that wrote.
 */
const attempts = 6
const firstWait = 0.05

/**
 * Changes a part of what can only be replaced whole: reads it, and writes it back changed, provided that it is still
 * what was read. Where it is not, it begins anew.
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
