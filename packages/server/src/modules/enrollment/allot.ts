import type { EnrollmentMethod } from '@holdfast/contract/vocabulary'

export type ProviderMethod = Exclude<EnrollmentMethod, 'token'>
/** What one enrolls by, with all that the method needs; `method` is what the device's row and its credential say. */
export type By =
  | { method: 'token'; tokenId: string; userId: string | null }
  /** `ticket`: the digest of the challenge that this enrollment takes. */
  | { method: ProviderMethod; providerId: string; userId: string; ticket: Buffer }
/** One who asks to enroll, as far as others may be in the way. Ids are UUIDs. */
export type Asks = {
  by: By
  /** RFC 7638 thumbprint of the device key; null without one. */
  jkt: string | null
  /** How many devices the user may have with this one. */
  maxDevicesPerUser: number | null
}
export type Situation<A extends Asks> = {
  /** Whose proof was seen before. */
  replayed: ReadonlySet<A>
  /** Whose ticket was taken before. */
  spent: ReadonlySet<A>
  /** Identity providers that enroll devices now. */
  openProviders: ReadonlySet<string>
  /** Uses that a token has left; one that is missing here may not be used at all. */
  usesLeft: ReadonlyMap<string, number>
  /** Devices that a user has; one who is missing here may have none. */
  devicesOf: ReadonlyMap<string, number>
  /** Keys of devices. */
  takenKeys: ReadonlySet<string>
  /** How many more devices the tenant may have. */
  room: number
}
export type Verdict =
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
 * Who of a batch may enroll, in order of arrival: the same as if they came one after the other. Whoever is refused
 * takes nothing from those behind.
 */
export function allot<A extends Asks>(batch: readonly A[], s: Situation<A>): Verdict[] {
  const usesLeft = new Map(s.usesLeft)
  const devicesOf = new Map(s.devicesOf)
  const takenKeys = new Set(s.takenKeys)
  let { room } = s
  const mayNot = (a: A): Verdict | undefined => {
    if (a.by.method === 'token') return (usesLeft.get(a.by.tokenId) ?? 0) < 1 ? 'token_spent' : undefined
    if (!s.openProviders.has(a.by.providerId)) return 'provider_closed'
    return s.spent.has(a) ? 'challenge_spent' : undefined
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
