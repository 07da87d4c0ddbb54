import { setImmediate as otherWork } from 'node:timers/promises'
import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { everything } from '../../../memory/changes.ts'
import type { GatewaysDeps } from '../deps.ts'
import * as queries from './delta.queries.ts'
import { relevantKinds } from './waiters.ts'

/** What was touched between two sequence numbers. Devices and pools as UUIDs, sessions as TypeIDs by pool. */
export type Touched = {
  devices: ReadonlySet<string>
  pools: ReadonlySet<string>
  sessions: ReadonlyMap<string, readonly string[]>
  trust: boolean
}

/** Beyond this a snapshot is the shorter answer. */
const mostTouched = 50_000
/** Sessions end by the application's clock and changes are dated by the database's. */
const clockMarginMs = 60_000
const chunk = 2000
const nothing: Touched = { devices: new Set(), pools: new Set(), sessions: new Map(), trust: false }

export const concerns = (t: Touched, poolId: string): boolean =>
  t.devices.size > 0 || t.trust || t.pools.has(poolId) || t.sessions.has(poolId)

/** Who was touched since when: worked out once for all gateways of a tenant that ask for the same span. */
export function createDeltas({ db, fleet, policy, now }: Pick<GatewaysDeps, 'db' | 'fleet' | 'policy' | 'now'>) {
  const known = new BoundedMap<string, Promise<Touched | undefined>>(64)

  async function work(tenant: TenantId, since: number, seq: number): Promise<Touched | undefined> {
    const read = await db.inTenant(tenant, async (tx) => {
      const oldest = await queries.oldestSeq(tx, tenant)
      if (oldest === undefined || oldest > since + 1) return undefined
      const rows = await queries.changesBetween(tx, tenant, { since, seq, limit: mostTouched + 1 }, relevantKinds)
      if (rows.length > mostTouched) return undefined
      const subjects = (kind: string) => rows.filter((r) => r.kind === kind).map((r) => r.subject)
      const from = await queries.firstChangeAfter(tx, tenant, since)
      const ends = from && ['device', 'user', 'vpn_session'].some((kind) => rows.some((r) => r.kind === kind))
      const margin = new Date((from ?? now()).getTime() - clockMarginMs)
      const cut = ends ? await queries.cutSessions(tx, tenant, subjects('vpn_session'), margin, mostTouched + 1) : []
      return cut.length > mostTouched ? undefined : { rows, subjects, cut }
    })
    if (!read) return undefined
    const { rows, subjects, cut } = read
    if (rows.some((r) => r.subject === everything && ['device', 'user', 'group', 'pool'].includes(r.kind)))
      return undefined

    const devices = new Set(subjects('device'))
    for (const user of subjects('user')) for (const id of await fleet.devicesOfUser(tenant, user)) devices.add(id)
    for (const group of subjects('group')) for (const id of await fleet.devicesOfGroup(tenant, group)) devices.add(id)
    if (rows.some((r) => r.kind === 'policy') && !(await addMoved(tenant, since, devices))) return undefined
    if (devices.size > mostTouched) return undefined
    const sessions = Map.groupBy(cut, (s) => s.pool_id)
    return {
      devices,
      pools: new Set(subjects('pool')),
      sessions: new Map([...sessions].map(([pool, s]) => [pool, s.map((r) => encodeId('vpn_session', r.session_id))])),
      trust: rows.some((r) => r.kind === 'trust'),
    }
  }

  /** Adds the devices that the policy moved to another variant. False: too many. */
  async function addMoved(tenant: TenantId, since: number, devices: Set<string>): Promise<boolean> {
    const before = await policy.versionsAt(tenant, since)
    const current = await policy.at(tenant)
    if (before.canary === current.versions.canary && before.stable === current.versions.stable) return true
    const earlier = await policy.atVersions(tenant, before)
    const at = now().getTime()
    let walked = 0
    for (const device of (await fleet.all(tenant)).values()) {
      if (++walked % chunk === 0) await otherWork()
      if (!device.usable || earlier.variantOf(device, at).digest === current.variantOf(device, at).digest) continue
      devices.add(device.deviceId)
      if (devices.size > mostTouched) return false
    }
    return true
  }

  return {
    /** Undefined: a snapshot must say it, since the log no longer reaches back that far or too much was touched. */
    between: (tenant: TenantId, since: number, seq: number): Promise<Touched | undefined> => {
      if (since === seq) return Promise.resolve(nothing)
      const key = `${tenant}|${since}|${seq}`
      const before = known.get(key)
      if (before) return before
      const touched = work(tenant, since, seq)
      known.set(key, touched)
      touched.catch(() => known.delete(key))
      return touched
    },
    /** Sessions of a pool that were ended from here within a day, for who starts from a snapshot. */
    recentlyCut: async (tenant: TenantId, poolId: string): Promise<string[]> => {
      const since = new Date(now().getTime() - 86_400_000)
      const rows = await db.inTenant(tenant, (tx) => queries.cutSessions(tx, tenant, [], since, mostTouched))
      return rows.filter((r) => r.pool_id === poolId).map((r) => encodeId('vpn_session', r.session_id))
    },
  }
}
export type Deltas = ReturnType<typeof createDeltas>
