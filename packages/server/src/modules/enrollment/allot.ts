/** What one enrolls by, with all that the method needs; `method` is what the device's row and its credential say. */
export type By = { method: 'token'; tokenId: string; userId: string | null }
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
  /** Uses that a token has left; one that is missing here may not be used at all. */
  usesLeft: ReadonlyMap<string, number>
  /** Devices that a user has; one who is missing here may have none. */
  devicesOf: ReadonlyMap<string, number>
  /** Keys of devices. */
  takenKeys: ReadonlySet<string>
}
export type Verdict = 'granted' | 'token_spent' | 'proof_replayed' | 'user_gone' | 'too_many_devices' | 'key_taken'

/**
 * Who of a batch may enroll, in order of arrival: the same as if they came one after the other. Whoever is refused
 * takes nothing from those behind.
 */
export function allot<A extends Asks>(batch: readonly A[], s: Situation<A>): Verdict[] {
  const usesLeft = new Map(s.usesLeft)
  const devicesOf = new Map(s.devicesOf)
  const takenKeys = new Set(s.takenKeys)
  return batch.map((a) => {
    const { userId, tokenId } = a.by
    const uses = usesLeft.get(tokenId) ?? 0
    const devices = userId === null ? 0 : devicesOf.get(userId)
    if (uses < 1) return 'token_spent'
    if (s.replayed.has(a)) return 'proof_replayed'
    if (devices === undefined) return 'user_gone'
    if (userId !== null && a.maxDevicesPerUser !== null && devices >= a.maxDevicesPerUser) return 'too_many_devices'
    if (a.jkt !== null && takenKeys.has(a.jkt)) return 'key_taken'
    usesLeft.set(tokenId, uses - 1)
    if (userId !== null) devicesOf.set(userId, devices + 1)
    if (a.jkt !== null) takenKeys.add(a.jkt)
    return 'granted'
  })
}
