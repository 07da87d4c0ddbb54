import type { DeviceStatus, PostureVerdict } from '../../db/tables.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { FleetRow, UserRow } from './fleet.queries.ts'

/** What decides about a device, as held in memory. Ids are UUIDs, times are ms. */
export type FleetDevice = {
  readonly deviceId: string
  readonly tenantId: TenantId
  readonly userId: string | null
  readonly name: string
  readonly platform: string
  readonly clientVersion: string | null
  readonly status: DeviceStatus
  /** Active, and its user not suspended. */
  readonly usable: boolean
  /** Its user may do nothing, so neither may it, whatever its status. */
  readonly isUserSuspended: boolean
  readonly channel: 'auto' | 'canary' | 'stable'
  readonly tags: readonly string[]
  /** Its own groups and those of its user. */
  readonly groupIds: readonly string[]
  readonly jkt: string | null
  readonly previousJkt: string | null
  readonly generation: number
  readonly previousGenerationUntil: number | null
  readonly wireguardPublicKey: string | null
  readonly addressNumber: number
  /** When its credential ends unless it is renewed. */
  readonly credentialUntil: number
  readonly posture: { facts: Record<string, unknown>; reported_at: number; verdict: PostureVerdict } | null
  /** The tenant's sequence number when this was read: the policy it selects is at least that new. */
  readonly seq: number
  /** Left here by the policy module: what `by` last selected for this device. A changed device is another object. */
  selected: { readonly by: object; readonly variant: object; readonly validUntil: number | null } | null
  /** When it was last noted as seen by this replica. */
  seenAt: number
}

const none: readonly string[] = []

/** The devices of one tenant and the users they belong to, with the indexes that changes need. */
export class FleetTenant {
  readonly devices = new Map<string, FleetDevice>()
  readonly #devicesByUser = new Map<string, Set<string>>()
  readonly #users = new Map<string, { suspended: boolean; groupIds: readonly string[] }>()
  // Equal lists and words are held once: thousands of devices share a user's groups, a platform, a version.
  readonly #lists = new Map<string, readonly string[]>()
  readonly #words = new Map<string, string>()
  readonly tenantId: TenantId
  constructor(tenantId: TenantId) {
    this.tenantId = tenantId
  }

  putUser(row: UserRow): void {
    this.#users.set(row.user_id, { suspended: row.suspended, groupIds: this.#shared(row.group_ids) })
  }
  knowsUser(userId: string): boolean {
    return this.#users.has(userId)
  }
  devicesOfUser(userId: string): readonly string[] {
    return [...(this.#devicesByUser.get(userId) ?? none)]
  }
  usersOfGroup(groupId: string): readonly string[] {
    return [...this.#users].filter(([, u]) => u.groupIds.includes(groupId)).map(([id]) => id)
  }

  putDevice(row: FleetRow, seq: number): void {
    const before = this.devices.get(row.device_id)
    if (before?.userId && before.userId !== row.user_id) this.#devicesByUser.get(before.userId)?.delete(row.device_id)
    const user = row.user_id ? this.#users.get(row.user_id) : undefined
    if (row.user_id) {
      const own = this.#devicesByUser.get(row.user_id)
      if (own) own.add(row.device_id)
      else this.#devicesByUser.set(row.user_id, new Set([row.device_id]))
    }
    this.devices.set(row.device_id, {
      deviceId: row.device_id,
      tenantId: this.tenantId,
      userId: row.user_id && this.#word(row.user_id),
      name: row.name,
      platform: this.#word(row.platform),
      clientVersion: row.client_version && this.#word(row.client_version),
      status: this.#word(row.status),
      isUserSuspended: row.user_id !== null && user?.suspended !== false,
      usable: row.status === 'active' && (row.user_id === null || user?.suspended === false),
      channel: this.#word(row.channel),
      tags: this.#shared(row.tags),
      groupIds:
        row.group_ids.length === 0
          ? (user?.groupIds ?? none)
          : this.#shared([...new Set([...row.group_ids, ...(user?.groupIds ?? none)])]),
      jkt: row.jkt,
      previousJkt: row.previous_jkt,
      generation: row.generation,
      previousGenerationUntil: row.previous_generation_until?.getTime() ?? null,
      wireguardPublicKey: row.wireguard_public_key,
      addressNumber: row.address_number,
      credentialUntil: row.credential_expires_at.getTime(),
      posture:
        row.facts && row.reported_at
          ? { facts: row.facts, reported_at: row.reported_at.getTime(), verdict: row.verdict ?? 'unknown' }
          : null,
      seq,
      selected: null,
      seenAt: before?.seenAt ?? 0,
    })
  }

  #word<T extends string>(word: T): T {
    const held = this.#words.get(word)
    if (held !== undefined) return held as T
    this.#words.set(word, word)
    return word
  }

  #shared(list: readonly string[]): readonly string[] {
    if (list.length === 0) return none
    const sorted = [...list].sort()
    const key = sorted.join()
    const held = this.#lists.get(key)
    if (held) return held
    this.#lists.set(key, sorted)
    return sorted
  }
}
