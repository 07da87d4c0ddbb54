import type { TenantId } from '../../kernel/actor.ts'
import { type Change, everything } from '../../memory/changes.ts'
import type { FleetRow, UserRow } from './fleet.queries.ts'
import { FleetDevice, FleetUser, none, type Posture } from './fleet-device.ts'
import { HeldReports } from './held-reports.ts'
import { createShared } from './shared.ts'

/** What was stale when a read began. */
type Stale = { devices: ReadonlyMap<string, number>; users: ReadonlyMap<string, number> }

/** More users than this are not looked at one by one in one piece: all is read anew. */
const mostMarked = 100_000
const readAtOnce = 5000
/** So many are read before the others at once: a small part of what a page of them takes. */
const mostAsked = 500

/**
 * The devices of one tenant that are not revoked, and the users they belong to. What a change has touched is stale
 * until it was read after it.
 */
export class FleetTenant {
  readonly tenantId: TenantId
  readonly devices = new Map<string, FleetDevice>()
  readonly #users = new Map<string, FleetUser>()
  /** By id, with the number of the touch: a later one is not undone by a read that began before it. */
  readonly #staleDevices = new Map<string, number>()
  readonly #staleUsers = new Map<string, number>()
  #touches = 0
  readonly reports = new HeldReports()
  refreshing: Promise<void> | undefined
  /** Of what is being read, the part that comes next. */
  #step = newStep()
  #asked = 0
  readonly #texts = createShared<string>()
  readonly #lists = createShared<readonly string[]>()
  readonly #facts = createShared<Posture['facts']>()

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId
  }

  /** False when all of it must be read anew. */
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
  /** Whether what is held of one device is true as of every change told. */
  isTrueOf(deviceId: string, device: FleetDevice | undefined): boolean {
    return this.reports.areTrueOf(deviceId) && !this.#staleDevices.has(deviceId) && !device?.isStale
  }
  /**
   * Has a device read before the others; the promise is of the next part of what is read, which may be another.
   * Undefined where enough are asked for: more of them would only keep all from being read.
   */
  ask(deviceId: string): Promise<void> | undefined {
    if (this.#asked === mostAsked) return undefined
    this.#asked++
    const isComing = this.reports.areTrueOf(deviceId) || this.#staleDevices.has(deviceId)
    if (!isComing) this.#staleDevices.set(deviceId, ++this.#touches)
    return this.#step.promise
  }
  /** Whoever waits for one device looks again; with an error nobody goes on to wait. */
  stepped(error?: unknown): void {
    const { resolve, reject } = this.#step
    this.#step = newStep()
    this.#asked = 0
    if (error === undefined) resolve()
    else reject(error)
  }
  /** Some of it, as much as is read at once. */
  get stale(): Stale {
    return { devices: someOf(this.#staleDevices), users: someOf(this.#staleUsers) }
  }
  /** Takes what a read found of what was stale when it began. What it did not find is no device, or no user. */
  settle(stale: Stale, users: readonly UserRow[], devices: readonly FleetRow[]): void {
    for (const row of users) this.putUser(row)
    for (const row of devices) this.putDevice(row)
    const found = new Set(devices.map((row) => row.device_id))
    for (const [id, touch] of stale.devices) {
      if (!found.has(id)) this.#removeDevice(id)
      if (this.#staleDevices.get(id) === touch) this.#staleDevices.delete(id)
    }
    for (const [id, touch] of stale.users) {
      if (this.#staleUsers.get(id) !== touch) continue
      this.#staleUsers.delete(id)
      const user = this.#users.get(id)
      if (user) user.isStale = false
    }
  }

  putUser(row: UserRow): void {
    const user = this.#users.get(row.user_id) ?? new FleetUser()
    this.#users.set(row.user_id, user)
    user.read(row, this.#list(row.group_ids))
    // What was selected for its devices was selected for what the user was.
    for (const id of user.deviceIds) {
      const device = this.devices.get(id)
      if (device) device.selected = null
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
    return { facts: held, reported_at: reported_at.getTime(), verdict: verdict ?? 'unknown' }
  }
  /** Users without a device decide nothing here. */
  dropIdleUsers(): void {
    for (const [id, user] of this.#users) if (user.deviceIds.length === 0) this.#users.delete(id)
  }
  devicesOfUser(userId: string): readonly string[] {
    return [...(this.#users.get(userId)?.deviceIds ?? none)]
  }

  /** A user may be one that nothing was read of yet, made before its first device: suspended until it is. */
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
