import type { IncomingMessage, ServerResponse } from 'node:http'

const mib = 1024 * 1024
/** Smaller ones are read beside each other in any number. */
const large = mib
const mostOfTenant = 64 * mib
const mostOfAll = 128 * mib

/**
 * Large bodies that people and automation send: each is in memory whole until the work on it is done, several times as
 * large once it is read, however slowly it comes.
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

  /** Undefined: there are too many already. `most` is what a body has that does not say how long it is. */
  return (
    tenant: string,
    most: number,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ): LargeBody | undefined => {
    const bytes = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : most
    if (bytes <= large || bytes > most) return small
    if ((ofTenant.get(tenant) ?? 0) + bytes > mostOfTenant || all + bytes > mostOfAll) return undefined
    // Who went while it was found out who they are is not told of again.
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
/** `during`: it counts while this is done, though its sender may be gone. */
export type LargeBody = { during: <T>(work: Promise<T>) => Promise<T> }

const small: LargeBody = { during: (work) => work }
