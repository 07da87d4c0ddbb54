import type { IncomingMessage, ServerResponse } from 'node:http'

const mib = 1024 * 1024
/** Size in bytes up to which the number of concurrent bodies is not limited. */
const large = mib
const mostOfTenant = 64 * mib
const mostOfAll = 128 * mib

/**
 * Limits the large bodies of people and automation. Each is held in memory until its work is done, and needs several
 * times its size once parsed, however slowly it arrives.
 */
export function createLargeBodies() {
  const ofTenant = new Map<string, number>()
  let all = 0

  function count(tenant: string, bytes: number): void {
    all += bytes
    const now = (ofTenant.get(tenant) ?? 0) + bytes
    if (now > 0) ofTenant.set(tenant, now)
    else ofTenant.delete(tenant)
  }

  /** Returns undefined if the limit is reached. `most` is the assumed size of a body without a length. */
  return (
    tenant: string,
    most: number,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ): LargeBody | undefined => {
    const bytes = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : most
    if (bytes <= large || bytes > most) return small
    if ((ofTenant.get(tenant) ?? 0) + bytes > mostOfTenant || all + bytes > mostOfAll) return undefined
    // If the client disconnected during authentication, no event follows.
    let isGone = response.destroyed
    let works = 0
    let isCounted = false
    const look = () => {
      const counts = !isGone || works > 0
      if (counts === isCounted) return
      isCounted = counts
      count(tenant, counts ? bytes : -bytes)
    }
    response.once('close', () => {
      isGone = true
      look()
    })
    look()
    return {
      during: async (work) => {
        works++
        look()
        try {
          return await work
        } finally {
          works--
          look()
        }
      },
    }
  }
}
export type LargeBodies = ReturnType<typeof createLargeBodies>
/** `during` keeps the body counted during this work, even if the client disconnects. */
export type LargeBody = { during: <T>(work: Promise<T>) => Promise<T> }

const small: LargeBody = { during: (work) => work }
