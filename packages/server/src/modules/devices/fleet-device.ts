import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { Variant } from '@holdfast/policy'
import type { DeviceStatus, EffectiveStatus, LockedBy, PostureVerdict, UserState } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { blockersOf, effectiveStatusIn } from './effective.ts'
import type { FleetRow, FleetUserRow } from './fleet.queries.ts'
import type { VerifiedProof } from './proven.ts'

export const none: readonly string[] = []
/** Cached unions of a device's groups and its user's groups: devices with the same two lists share one. */
const unions = new WeakMap<readonly string[], WeakMap<readonly string[], readonly string[]>>()

/** User data that decides about devices. All devices of a user share one object. */
export class FleetUser {
  /** Suspended until the user has been read. */
  state: UserState = 'suspended'
  groupIds: readonly string[] = none
  /** Time at which the user last proved a second factor. */
  mfaAt: number | null = null
  /** Tenant sequence number as of which this was read; 0 if the user has not been read. */
  seq = 0
  /** A change has touched the user since the last read. */
  isStale = false
  deviceIds: string[] = []

  read(row: Pick<FleetUserRow, 'state' | 'mfa_at' | 'seq'>, groupIds: readonly string[]): void {
    this.state = row.state
    this.mfaAt = row.mfa_at?.getTime() ?? null
    this.groupIds = groupIds
    this.seq = row.seq
  }
}

/**
 * `storedVerdict`: the one by which lists find devices. It follows the verdict in force (`TenantPolicy.verdictOf`) a
 * little later.
 */
export type Posture = {
  facts: Readonly<Record<string, unknown>>
  reported_at: number
  storedVerdict: PostureVerdict
}

/** The policy variant last selected for a device, and the time range in which it applies. */
export type Selected = {
  /** Identifies the policy without keeping it in memory. */
  readonly by: object
  /** Null once the variant was evicted. */
  readonly slot: { readonly variant: Variant | null; isUsed: boolean }
  readonly from: number
  readonly until: number
}

/** A posture verdict by one policy. All devices with the same one share an object, which identifies the policy. */
export type EvaluatedVerdict = { readonly verdict: PostureVerdict }

/** WireGuard key that the device has replaced, and the time (ms) until which it is served beside the new one. */
type PreviousKey = { readonly key: string; readonly until: number }

/**
 * Device data in memory that decides about access. A changed row creates a new object. User data is read from the
 * shared user object, so the two can never disagree. IDs are UUIDs, times are ms.
 */
export class FleetDevice {
  readonly tenantId: TenantId
  readonly deviceId: string
  readonly userId: string | null
  readonly name: string
  readonly platform: string
  /** Client version as reported by the device: any text, or null. */
  readonly clientVersion: string | null
  /** Version of the operating system as reported by the device: any text, or null. */
  readonly osVersion: string | null
  readonly arch: DeviceArchitecture | null
  readonly status: Exclude<DeviceStatus, 'revoked'>
  /** Lock on the tenant, the device or one of its own groups, independent of its status. */
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
  /** Expiry of the device's credential unless it is renewed. */
  readonly credentialUntil: number
  /** Last announced report, with only the facts that checks of the current policy read (`held-reports.ts`). */
  posture: Posture | null
  /** Set by the policy module. */
  selected: Selected | null = null
  /** Posture verdict and the time (ms) until which it holds without a new report. Set by the policy module. */
  evaluated: EvaluatedVerdict | null = null
  evaluatedUntil = 0
  /** Set by the verifier. */
  proven: VerifiedProof | null
  /** Time at which this replica last noted the device as seen. */
  seenAt: number
  /** Time until which the device has used its request quota on this replica, see `kernel/rate-limit.ts`. */
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

  /** Stores a report as of the tenant's sequence number. */
  takeReport(posture: Posture | null, seq: number): void {
    this.posture = posture
    this.selected = null
    this.evaluated = null
    this.#seq = Math.max(this.#seq, seq)
  }
  /** True if the device is active and neither locked nor blocked by its user. */
  get usable(): boolean {
    return this.status === 'active' && !this.isSuspended
  }
  /** True if the device is suspended or locked, or if its user is not active. */
  get isSuspended(): boolean {
    return this.status === 'suspended' || this.lockedBy !== null || (this.userState ?? 'active') !== 'active'
  }
  /** Null if the device has no user. */
  get userState(): UserState | null {
    return this.#user?.state ?? null
  }
  /** Effective status at a time (ms). */
  effectiveStatusAt(nowMs: number): EffectiveStatus {
    return effectiveStatusIn(this.#binding, nowMs)
  }
  /** All reasons that block the device at a time (ms). */
  blockersAt(nowMs: number): ReturnType<typeof blockersOf> {
    return blockersOf(this.#binding, nowMs)
  }
  get #binding() {
    const { status, lockedBy, userState: user, credentialUntil } = this
    return { status, lockedBy, user, credentialUntil }
  }
  /** Time at which its user last proved a second factor to this server. */
  get mfaAt(): number | null {
    return this.#user?.mfaAt ?? null
  }
  /** The groups of the device and of its user. */
  get groupIds(): readonly string[] {
    const ofUser = this.#user?.groupIds ?? none
    if (this.#ownGroupIds.length === 0) return ofUser
    if (ofUser.length === 0) return this.#ownGroupIds
    const known = unions.get(this.#ownGroupIds) ?? new WeakMap<readonly string[], readonly string[]>()
    const union = known.get(ofUser) ?? [...new Set([...this.#ownGroupIds, ...ofUser])]
    unions.set(this.#ownGroupIds, known.set(ofUser, union))
    return union
  }
  /** Tenant sequence number up to which this data is current. */
  get seq(): number {
    return this.#user && this.#user.seq > this.#seq ? this.#user.seq : this.#seq
  }
  /** A change has touched the user since the last read. */
  get isStale(): boolean {
    return this.#user?.isStale ?? false
  }
}
