import type { IncomingMessage, ServerResponse } from 'node:http'

const mib = 1024 * 1024
/** Smaller ones are read beside each other in any number. */
const large = mib
const mostOfTenant = 64 * mib
const mostOfAll = 128 * mib

/**
 * Large bodies that people and automation send: each is in memory whole until it is answered, several times as large
 * once it is read, however slowly it comes.
 */
export function createLargeBodies() {
  const ofTenant = new Map<string, number>()
  let all = 0

  /** False: there are too many already. `most` is what a body has that does not say how long it is. */
  return (tenant: string, most: number, { headers }: IncomingMessage, response: ServerResponse): boolean => {
    const bytes = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : most
    if (bytes <= large || bytes > most) return true
    const before = ofTenant.get(tenant) ?? 0
    if (before + bytes > mostOfTenant || all + bytes > mostOfAll) return false
    ofTenant.set(tenant, before + bytes)
    all += bytes
    response.once('close', () => {
      all -= bytes
      const left = (ofTenant.get(tenant) ?? 0) - bytes
      if (left > 0) ofTenant.set(tenant, left)
      else ofTenant.delete(tenant)
    })
    return true
  }
}
export type LargeBodies = ReturnType<typeof createLargeBodies>
