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

  function hold(tenant: string, bytes: number): () => void {
    ofTenant.set(tenant, (ofTenant.get(tenant) ?? 0) + bytes)
    all += bytes
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      all -= bytes
      const left = (ofTenant.get(tenant) ?? 0) - bytes
      if (left > 0) ofTenant.set(tenant, left)
      else ofTenant.delete(tenant)
    }
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
    const letGo = hold(tenant, bytes)
    let isAtWork = false
    response.once('close', () => isAtWork || letGo())
    // Who went while it was found out who they are is not told of again.
    if (response.destroyed) letGo()
    return {
      during: (work) => {
        isAtWork = true
        return work.finally(letGo)
      },
    }
  }
}
export type LargeBodies = ReturnType<typeof createLargeBodies>
/** `during`: it counts until this is done, though its sender may be gone. */
export type LargeBody = { during: <T>(work: Promise<T>) => Promise<T> }

const small: LargeBody = { during: (work) => work }
