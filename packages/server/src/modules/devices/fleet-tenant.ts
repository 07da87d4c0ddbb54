import type { TenantId } from '../../kernel/actor.ts'
import { type Change, everything } from '../../replication/changes.ts'
import type { FleetRow, FleetUserRow } from './fleet.queries.ts'
import { FleetDevice, FleetUser, none, type Posture } from './fleet-device.ts'
import { HeldReports } from './held-reports.ts'

/** Stale entries at the beginning of a read. */
type Stale = { devices: ReadonlyMap<string, number>; users: ReadonlyMap<string, number> }

/** With more users than this, a change of all users drops the tenant, which is then loaded again as a whole. */
const mostMarked = 100_000
const readAtOnce = 5000
/** Maximum number of devices read ahead of the others: a small part of the cost of a page. */
const mostAsked = 500

/**
 * Devices of one tenant that are not revoked, with their users. An entry touched by a change is stale until it has been
 * read again.
 */
export class FleetTenant {
  readonly tenantId: TenantId
  readonly devices = new Map<string, FleetDevice>()
  readonly #users = new Map<string, FleetUser>()
  /** By ID, with the number of the touch: a read that began before a later touch does not clear it. */
  readonly #staleDevices = new Map<string, number>()
  readonly #staleUsers = new Map<string, number>()
  #touches = 0
  readonly reports = new HeldReports()
  refreshing: Promise<void> | undefined
  /** The next part of the running read. */
  #step = newStep()
  #asked = 0
  readonly #texts = createShared<string>()
  readonly #lists = createShared<readonly string[]>()
  readonly #facts = createShared<Posture['facts']>()

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId
  }

  /** Marks changed entries as stale. False if the whole tenant must be loaded again. */
  touch(changes: readonly Change[]): boolean {
    const touch = ++this.#touches
    for (const { kind, subject } of changes) {
      if (kind === 'policy') this.reports.touch()
      else if (kind === 'user' && subject === everything && this.#users.size <= mostMarked)
        for (const id of this.#users.keys()) this.#touchUser(id, touch)
      else if (subject === everything) return false
      else if (kind === 'device') this.#staleDevices.set(subject, touch)
      else if (this.#users.has(subject)) this.#touchUser(subject, touch)
    }
    return true
  }
  #touchUser(userId: string, touch: number): void {
    this.#staleUsers.set(userId, touch)
    this.#users.get(userId)!.isStale = true
  }

  get isTrue(): boolean {
    return this.reports.areTrue && this.#staleDevices.size === 0 && this.#staleUsers.size === 0
  }
  /** True if the data of this device is current as of all known changes. */
  isTrueOf(deviceId: string, device: FleetDevice | undefined): boolean {
    return this.reports.areTrueOf(deviceId) && !this.#staleDevices.has(deviceId) && !device?.isStale
  }
  /**
   * Requests that a device is read ahead of the others. The promise resolves after the next part of the read, which may
   * be for another device. Undefined if the maximum is reached, since more requests would only delay the read of all.
   */
  ask(deviceId: string): Promise<void> | undefined {
    if (this.#asked === mostAsked) return undefined
    this.#asked++
    const isComing = this.reports.areTrueOf(deviceId) || this.#staleDevices.has(deviceId)
    if (!isComing) this.#staleDevices.set(deviceId, ++this.#touches)
    return this.#step.promise
  }
  /** Wakes the callers that wait for single devices: they check again, or fail with the error. */
  stepped(error?: unknown): void {
    const { resolve, reject } = this.#step
    this.#step = newStep()
    this.#asked = 0
    if (error === undefined) resolve()
    else reject(error)
  }
  /** Stale entries, as many as one read takes. */
  get stale(): Stale {
    return { devices: someOf(this.#staleDevices), users: someOf(this.#staleUsers) }
  }
  /**
   * Applies the result of a read of these stale entries. Devices that were not found are removed, and users that were
   * not found count as deleted.
   */
  settle(stale: Stale, users: readonly FleetUserRow[], devices: readonly FleetRow[]): void {
    for (const row of users) this.putUser(row)
    for (const row of devices) this.putDevice(row)
    const found = new Set(devices.map((row) => row.device_id))
    for (const [id, touch] of stale.devices) {
      if (!found.has(id)) this.#removeDevice(id)
      if (this.#staleDevices.get(id) === touch) this.#staleDevices.delete(id)
    }
    const foundUsers = new Set(users.map((row) => row.user_id))
    for (const [id, touch] of stale.users) {
      if (!foundUsers.has(id)) this.#deleteUser(id)
      if (this.#staleUsers.get(id) !== touch) continue
      this.#staleUsers.delete(id)
      const user = this.#users.get(id)
      if (user) user.isStale = false
    }
  }

  putUser(row: FleetUserRow): void {
    const user = this.#users.get(row.user_id) ?? new FleetUser()
    this.#users.set(row.user_id, user)
    user.read(row, this.#list(row.group_ids))
    this.#forgetSelected(user)
  }
  #deleteUser(userId: string): void {
    const user = this.#users.get(userId)
    if (!user) return
    user.read({ state: 'deleted', mfa_at: null, seq: user.seq }, none)
    this.#forgetSelected(user)
  }
  /** Variants and verdicts of a user's devices were those of the user's previous state. */
  #forgetSelected({ deviceIds }: FleetUser): void {
    for (const id of deviceIds) {
      const device = this.devices.get(id)
      if (!device) continue
      device.selected = null
      device.evaluated = null
    }
  }
  putDevice(row: FleetRow): void {
    const before = this.devices.get(row.device_id)
    if (before && before.userId !== row.user_id) this.#leaveUser(before)
    const user = row.user_id === null ? null : this.#userOf(row.user_id)
    const device = new FleetDevice(
      this.tenantId,
      row,
      { user, text: this.#text, list: this.#list, posture: this.postureOf(row) },
      before,
    )
    if (user && before?.userId !== row.user_id) user.deviceIds.push(device.deviceId)
    this.devices.set(device.deviceId, device)
  }
  postureOf({ facts, reported_at, verdict }: Pick<FleetRow, 'facts' | 'reported_at' | 'verdict'>): Posture | null {
    if (!reported_at) return null
    const held = facts ? this.#facts(JSON.stringify(facts), () => facts) : noFacts
    return { facts: held, reported_at: reported_at.getTime(), storedVerdict: verdict ?? 'unknown' }
  }
  /** Users without a device have no effect here. */
  dropIdleUsers(): void {
    for (const [id, user] of this.#users) if (user.deviceIds.length === 0) this.#users.delete(id)
  }
  devicesOfUser(userId: string): readonly string[] {
    return [...(this.#users.get(userId)?.deviceIds ?? none)]
  }

  /**
   * Returns the shared user object. A user created just before its first device is not read yet, and counts as
   * suspended until then.
   */
  #userOf(userId: string): FleetUser {
    const known = this.#users.get(userId)
    if (known) return known
    const user = new FleetUser()
    this.#users.set(this.#text(userId), user)
    this.#touchUser(userId, ++this.#touches)
    return user
  }
  #leaveUser({ userId, deviceId }: FleetDevice): void {
    const user = userId === null ? undefined : this.#users.get(userId)
    if (!user || userId === null) return
    user.deviceIds = user.deviceIds.filter((id) => id !== deviceId)
    if (user.deviceIds.length > 0) return
    this.#users.delete(userId)
    this.#staleUsers.delete(userId)
  }
  #removeDevice(deviceId: string): void {
    const device = this.devices.get(deviceId)
    if (!device) return
    this.devices.delete(deviceId)
    if (device.proven) device.proven.isOver = true
    this.#leaveUser(device)
  }

  readonly #text = <T extends string>(text: T): T => this.#texts(text, () => text) as T
  readonly #list = (list: readonly string[]): readonly string[] => {
    if (list.length === 0) return none
    const sorted = [...list].sort()
    return this.#lists(sorted.join(), () => sorted.map(this.#text))
  }
}

function newStep() {
  const step = Promise.withResolvers<void>()
  step.promise.catch(() => {})
  return step
}

const noFacts: Posture['facts'] = {}

function someOf(stale: ReadonlyMap<string, number>): Map<string, number> {
  const some = new Map<string, number>()
  for (const [id, touch] of stale) {
    if (some.size === readAtOnce) break
    some.set(id, touch)
  }
  return some
}

/** Maximum number of distinct values shared at once. Beyond it, sharing starts over. */
const mostShared = 20_000

function createShared<V>() {
  let shared = new Map<string, V>()
  return (key: string, make: () => V): V => {
    const known = shared.get(key)
    if (known !== undefined) return known
    if (shared.size >= mostShared) shared = new Map()
    const made = make()
    shared.set(key, made)
    return made
  }
}
