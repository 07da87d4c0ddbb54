import type { DeviceStatus, EffectiveStatus, LockedBy, UserState } from '../../db/tables/index.ts'

type Facts = {
  status: DeviceStatus
  lockedBy: LockedBy | null
  /** Null if the device has no user. */
  user: UserState | null
  /** Expiry of the device's credential (ms). */
  credentialUntil: number
}
type Effective = { status: EffectiveStatus; reason: string | null }

type Blocker = {
  status: Exclude<EffectiveStatus, 'active'>
  kind: 'device' | 'user' | 'lock' | 'credential'
  reason: string
}

/** Reasons of the user and the tenant that block a user's devices, regardless of the devices' own state. */
export function blockersOfUser(user: UserState | null, isTenantLocked: boolean): Blocker[] {
  const locked = (reason: string): Blocker => ({ status: 'locked', kind: 'lock', reason })
  return [
    ...(user === 'deleted' ? [{ status: 'user_deleted', kind: 'user', reason: 'its user is deleted' } as const] : []),
    ...(isTenantLocked ? [locked('all devices of the tenant are locked')] : []),
    ...(user === 'locked' ? [locked('its user is locked')] : []),
    ...(user === 'group_locked' ? [locked('a group of its user is locked')] : []),
    ...(user === 'suspended'
      ? [{ status: 'user_suspended', kind: 'user', reason: 'its user is suspended' } as const]
      : []),
  ]
}

/** All reasons that block a device. The first one is its effective status. */
export function blockersOf({ status, lockedBy, user, credentialUntil }: Facts, nowMs: number): Blocker[] {
  const itself = (of: 'revoked' | 'suspended' | 'pending', reason: string): Blocker[] =>
    status === of ? [{ status: of, kind: 'device', reason }] : []
  const lock = lockedBy === 'device' ? 'the device is locked' : 'a group of the device is locked'
  const ended = () => `its credential expired at ${new Date(credentialUntil).toISOString()} and was not renewed`
  return [
    ...itself('revoked', 'the device is revoked'),
    ...blockersOfUser(user, lockedBy === 'tenant'),
    ...(lockedBy === 'device' || lockedBy === 'group'
      ? [{ status: 'locked', kind: 'lock', reason: lock } as const]
      : []),
    ...itself('suspended', 'the device is suspended'),
    ...itself('pending', 'the device waits for approval'),
    ...(credentialUntil <= nowMs ? [{ status: 'expired', kind: 'credential', reason: ended() } as const] : []),
  ].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status))
}
/** Precedence of the reasons. */
const order: readonly Blocker['status'][] = [
  'revoked',
  'user_deleted',
  'locked',
  'user_suspended',
  'suspended',
  'pending',
  'expired',
]

/**
 * Effective status of a device and its reason, from its own status, its user, locks and its credential. The query
 * `effectiveStatus` has the same precedence.
 */
export function effectiveOf(facts: Facts, nowMs: number): Effective {
  if (effectiveStatusIn(facts, nowMs) === 'active') return active
  const [first] = blockersOf(facts, nowMs)
  return first ? { status: first.status, reason: first.reason } : active
}
const active: Effective = Object.freeze({ status: 'active', reason: null })

/** The same without the reason, at a hundredth of the cost: for counts of all devices. */
export function effectiveStatusIn({ status, lockedBy, user, credentialUntil }: Facts, nowMs: number): EffectiveStatus {
  if (status === 'revoked') return 'revoked'
  if (user === 'deleted') return 'user_deleted'
  if (lockedBy !== null || user === 'locked' || user === 'group_locked') return 'locked'
  if (user === 'suspended') return 'user_suspended'
  if (status !== 'active') return status
  return credentialUntil <= nowMs ? 'expired' : 'active'
}
