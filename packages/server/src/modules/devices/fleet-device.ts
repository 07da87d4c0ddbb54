import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { Variant } from '@holdfast/policy'
import type { DeviceStatus, EffectiveStatus, LockedBy, PostureVerdict, UserState } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { blockersOf, effectiveStatusIn } from './effective.ts'
import type { FleetRow, UserRow } from './fleet.queries.ts'
import type { Proven } from './proven.ts'

export const none: readonly string[] = []
/** The groups of a device with those of its user: one list for all who have the same two. */
const unions = new WeakMap<readonly string[], WeakMap<readonly string[], readonly string[]>>()

/** What decides about the devices of a user. One object for each user, which all its devices share. */
export class FleetUser {
  /** Nothing was read yet: it is out until it is. */
  state: UserState = 'suspended'
  groupIds: readonly string[] = none
  /** When it last proved a second factor. */
  mfaAt: number | null = null
  /** The tenant's sequence number as of which this was read; nothing was read of a user whom nobody knows. */
  seq = 0
  /** A change touched it and it was not read since. */
  isStale = false
  deviceIds: string[] = []

  read(row: UserRow, groupIds: readonly string[]): void {
    this.state = row.state
    this.mfaAt = row.mfa_at?.getTime() ?? null
    this.groupIds = groupIds
    this.seq = row.seq
  }
}

export type Posture = { facts: Readonly<Record<string, unknown>>; reported_at: number; verdict: PostureVerdict }

/** What a policy last selected for a device, and for which times. */
export type Selected = {
  /** Identifies the policy, without keeping it alive. */
  readonly by: object
  /** Empty once the variant had to make room for others. */
  readonly slot: { readonly variant: Variant | null; used: boolean }
  readonly from: number
  readonly until: number
}

/** A WireGuard key that its device has replaced, and until when (ms) it is served beside the new one. */
type PreviousKey = { readonly key: string; readonly until: number }

/**
 * What decides about a device, as held in memory: another object once its row has changed. What hangs on its user is
 * asked of the user, so that the two can never disagree. Ids are UUIDs, times are ms.
 */
export class FleetDevice {
  readonly tenantId: TenantId
  readonly deviceId: string
  readonly userId: string | null
  readonly name: string
  readonly platform: string
  /** The version that the device says it runs; any text, or null. */
  readonly clientVersion: string | null
  /** The version of its operating system, as it says. */
  readonly osVersion: string | null
  readonly arch: DeviceArchitecture | null
  readonly status: Exclude<DeviceStatus, 'revoked'>
  /** What locks it beside its user, whatever its status. */
  readonly lockedBy: LockedBy | null
  readonly channel: 'auto' | 'canary' | 'stable'
  readonly tags: readonly string[]
  readonly jkt: string | null
  readonly previousJkt: string | null
  readonly generation: number
  readonly previousGenerationUntil: number | null
  readonly wireguardPublicKey: string | null
  readonly previousWireguardKey: PreviousKey | null
  readonly addressNumber: number
  /** When its credential ends unless it is renewed. */
  readonly credentialUntil: number
  /** As it was last told of: of the facts those that a check of the current policy reads (`held-reports.ts`). */
  posture: Posture | null
  /** Left here by the policy module. */
  selected: Selected | null = null
  /** Left here by the verifier. */
  proven: Proven | null
  /** When it was last noted as seen by this replica. */
  seenAt: number
  /** Of the requests that it may make, until when it has used them here: see `kernel/rate-limit.ts`. */
  usedUntil: number
  readonly #user: FleetUser | null
  readonly #ownGroupIds: readonly string[]
  #seq: number

  constructor(
    tenantId: TenantId,
    row: FleetRow,
    shared: {
      user: FleetUser | null
      text: <T extends string>(text: T) => T
      list: (list: readonly string[]) => readonly string[]
      posture: Posture | null
    },
    before: FleetDevice | undefined,
  ) {
    this.tenantId = tenantId
    this.deviceId = before?.deviceId ?? row.device_id
    this.userId = row.user_id && shared.text(row.user_id)
    this.name = row.name
    this.platform = shared.text(row.platform)
    this.clientVersion = row.client_version && shared.text(row.client_version)
    this.osVersion = row.os_version && shared.text(row.os_version)
    this.arch = row.arch && shared.text(row.arch)
    this.status = shared.text(row.status)
    this.lockedBy = row.locked_by && shared.text(row.locked_by)
    this.channel = shared.text(row.channel)
    this.tags = shared.list(row.tags)
    this.jkt = before?.jkt === row.jkt ? before.jkt : row.jkt
    this.previousJkt = row.previous_jkt
    this.generation = row.generation
    this.previousGenerationUntil = row.previous_generation_until?.getTime() ?? null
    this.wireguardPublicKey = row.wireguard_public_key
    const { previous_wireguard_public_key: key, previous_wireguard_until: until } = row
    this.previousWireguardKey = key !== null && until ? { key, until: until.getTime() } : null
    this.addressNumber = row.address_number
    this.credentialUntil = row.credential_expires_at.getTime()
    this.posture = shared.posture
    this.proven = before?.proven ?? null
    this.seenAt = before?.seenAt ?? 0
    this.usedUntil = before?.usedUntil ?? 0
    this.#user = shared.user
    this.#ownGroupIds = shared.list(row.group_ids)
    this.#seq = row.seq
  }

  /** What was read of its report, as of the tenant's sequence number. */
  takeReport(posture: Posture | null, seq: number): void {
    this.posture = posture
    this.selected = null
    this.#seq = Math.max(this.#seq, seq)
  }
  /** Active, and its user not suspended. */
  get usable(): boolean {
    return this.status === 'active' && !this.isSuspended
  }
  /** Of a suspended user none may do anything, whatever the device's own status; nor may one that is locked. */
  get isSuspended(): boolean {
    return this.status === 'suspended' || this.lockedBy !== null || (this.userState ?? 'active') !== 'active'
  }
  /** Null: it has no user. */
  get userState(): UserState | null {
    return this.#user?.state ?? null
  }
  /** The effective status at a time (ms). */
  effectiveStatusAt(nowMs: number): EffectiveStatus {
    return effectiveStatusIn(this.#binding, nowMs)
  }
  /** All that keeps it out at a time (ms). */
  blockersAt(nowMs: number): ReturnType<typeof blockersOf> {
    return blockersOf(this.#binding, nowMs)
  }
  get #binding() {
    const { status, lockedBy, userState: user, credentialUntil } = this
    return { status, lockedBy, user, credentialUntil }
  }
  /** When its user last proved a second factor, to this server. */
  get mfaAt(): number | null {
    return this.#user?.mfaAt ?? null
  }
  /** Its own groups and those of its user. */
  get groupIds(): readonly string[] {
    const ofUser = this.#user?.groupIds ?? none
    if (this.#ownGroupIds.length === 0) return ofUser
    if (ofUser.length === 0) return this.#ownGroupIds
    const known = unions.get(this.#ownGroupIds) ?? new WeakMap<readonly string[], readonly string[]>()
    const union = known.get(ofUser) ?? [...new Set([...this.#ownGroupIds, ...ofUser])]
    unions.set(this.#ownGroupIds, known.set(ofUser, union))
    return union
  }
  /** The tenant's sequence number as of which all of this holds: nothing newer is known of it. */
  get seq(): number {
    return this.#user && this.#user.seq > this.#seq ? this.#user.seq : this.#seq
  }
  /** A change touched its user, who was not read since. */
  get isStale(): boolean {
    return this.#user?.isStale ?? false
  }
}
