import type { EnrollmentMethod } from '@holdfast/contract/vocabulary'

export type ProviderMethod = Exclude<EnrollmentMethod, 'token'>
/** Enrollment method with the data that it needs. `method` is stored with the device and in its credential. */
export type By =
  | { method: 'token'; tokenId: string; userId: string | null }
  /** `ticket`: digest of the challenge used for this enrollment. */
  | { method: ProviderMethod; providerId: string; userId: string; ticket: Buffer }
/** An applicant, with the data that decides between concurrent ones. IDs are UUIDs. */
export type Asks = {
  by: By
  /** RFC 7638 thumbprint of the device key; null without one. */
  jkt: string | null
  /** Maximum number of the user's devices, including this one. */
  maxDevicesPerUser: number | null
}
export type Situation<A extends Asks> = {
  /** Applicants whose proof was used before. */
  replayed: ReadonlySet<A>
  /** Applicants whose ticket was used before. */
  usedTickets: ReadonlySet<A>
  /** Identity providers that currently enroll devices. */
  openProviders: ReadonlySet<string>
  /** Remaining uses of each token. A token that is missing here must not be used. */
  usesLeft: ReadonlyMap<string, number>
  /** Number of devices of each user. A user who is missing here must not enroll any. */
  devicesOf: ReadonlyMap<string, number>
  /** Keys of existing devices. */
  takenKeys: ReadonlySet<string>
  /** Number of further devices that the tenant may have. */
  room: number
}
export type AllocationVerdict =
  | 'granted'
  | 'token_spent'
  | 'provider_closed'
  | 'challenge_spent'
  | 'proof_replayed'
  | 'user_gone'
  | 'too_many_devices'
  | 'key_taken'
  | 'no_place_left'

/**
 * Decides which applicants of a batch may enroll, with the same result as one after the other. A refused applicant uses
 * up nothing.
 */
export function allocate<A extends Asks>(batch: readonly A[], s: Situation<A>): AllocationVerdict[] {
  const usesLeft = new Map(s.usesLeft)
  const devicesOf = new Map(s.devicesOf)
  const takenKeys = new Set(s.takenKeys)
  let { room } = s
  const mayNot = (a: A): AllocationVerdict | undefined => {
    if (a.by.method === 'token') return (usesLeft.get(a.by.tokenId) ?? 0) < 1 ? 'token_spent' : undefined
    if (!s.openProviders.has(a.by.providerId)) return 'provider_closed'
    return s.usedTickets.has(a) ? 'challenge_spent' : undefined
  }
  return batch.map((a) => {
    const { by } = a
    const { userId } = by
    const devices = userId === null ? 0 : devicesOf.get(userId)
    const refused = mayNot(a)
    if (refused) return refused
    if (s.replayed.has(a)) return 'proof_replayed'
    if (devices === undefined) return 'user_gone'
    if (userId !== null && a.maxDevicesPerUser !== null && devices >= a.maxDevicesPerUser) return 'too_many_devices'
    if (a.jkt !== null && takenKeys.has(a.jkt)) return 'key_taken'
    if (room < 1) return 'no_place_left'
    room--
    if (by.method === 'token') usesLeft.set(by.tokenId, (usesLeft.get(by.tokenId) ?? 0) - 1)
    if (userId !== null) devicesOf.set(userId, devices + 1)
    if (a.jkt !== null) takenKeys.add(a.jkt)
    return 'granted'
  })
}
