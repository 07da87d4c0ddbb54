import { mostBlockSeconds } from '@holdfast/contract/vpn-sessions'
import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute, second } from '../../../kernel/time.ts'
import { everything } from '../../../replication/changes.ts'
import type { GatewaysDeps } from '../deps.ts'
import * as queries from './delta.queries.ts'
import { createVariantMoves, type VariantMove } from './moves.ts'
import type { PolicyAtSeq } from './standing.ts'
import { relevantKinds } from './waiters.ts'

/** An ended session, and the end of the block on its device in the pool. Ids are TypeIDs. */
type CutSession = { session_id: string; device_id: string; block_until: string | null }
/** Changes between two sequence numbers. Devices, pools and gateways are UUIDs; sessions are grouped by pool. */
export type Touched = {
  /** Devices to assess one by one. */
  devices: ReadonlySet<string>
  moved: readonly VariantMove[]
  pools: ReadonlySet<string>
  gateways: ReadonlySet<string>
  sessions: ReadonlyMap<string, readonly CutSession[]>
  trust: boolean
}
/** Span of a delta. `asOf`: time of the asker's last answer, if it sends one. */
type Span = { since: number; asOf: number | undefined; to: PolicyAtSeq }

/** Limit of changes; beyond it a snapshot is shorter. */
const mostTouched = 50_000
/** Session ends have the time of the application, changes that of the database. */
const clockMargin = minute
export const nothing: Touched = {
  devices: new Set(),
  moved: [],
  pools: new Set(),
  gateways: new Set(),
  sessions: new Map(),
  trust: false,
}

export const concerns = (t: Touched, { pool_id, gateway_id }: { pool_id: string; gateway_id: string }): boolean =>
  t.devices.size > 0 ||
  t.moved.length > 0 ||
  t.trust ||
  t.pools.has(pool_id) ||
  t.gateways.has(gateway_id) ||
  t.sessions.has(pool_id)

/** Computes deltas, once for all gateways of a tenant that ask for the same span. */
export function createDeltas({
  db,
  changes,
  fleet,
  policy,
  now,
}: Pick<GatewaysDeps, 'db' | 'changes' | 'fleet' | 'policy' | 'now'>) {
  const known = new BoundedMap<string, Promise<Touched | undefined>>(64)
  const moves = createVariantMoves({ changes, fleet, policy, now })
  changes.listen('values', { changed: () => {}, forgotten: known.clear.bind(known) })

  async function work(
    tenant: TenantId,
    { since, asOf, to: { seq, policy: current } }: Span,
  ): Promise<Touched | undefined> {
    const read = await db.inTenant(tenant, async (tx) => {
      const oldest = await queries.oldestSeq(tx, tenant)
      if (oldest === undefined || oldest > since + 1) return undefined
      const rows = await queries.touchedBetween(tx, tenant, { since, seq, limit: mostTouched + 1 }, [
        ...relevantKinds,
        'gateway',
      ])
      if (rows.length > mostTouched) return undefined
      const subjects = (kind: string) => rows.filter((r) => r.kind === kind).map((r) => r.subject)
      const from = await queries.firstChangeAfter(tx, tenant, since)
      const ends = from && ['device', 'user', 'vpn_session'].some((kind) => rows.some((r) => r.kind === kind))
      const margin = new Date((from ?? now()).getTime() - clockMargin)
      const cut = ends ? await queries.cutSessions(tx, tenant, subjects('vpn_session'), margin, mostTouched + 1) : []
      return cut.length > mostTouched ? undefined : { rows, subjects, cut }
    })
    if (!read) return undefined
    const { rows, subjects, cut } = read
    if (rows.some((r) => r.subject === everything && ['device', 'user', 'group', 'pool', 'gateway'].includes(r.kind)))
      return undefined

    const devices = new Set(subjects('device'))
    for (const user of subjects('user')) for (const id of await fleet.devicesOfUser(tenant, user)) devices.add(id)
    for (const group of subjects('group')) for (const id of await fleet.devicesOfGroup(tenant, group)) devices.add(id)
    const moved = rows.some((r) => r.kind === 'policy')
      ? await moves.since(tenant, { since, asOf, policy: current })
      : undefined
    if (!moved && rows.some((r) => r.kind === 'policy')) return undefined
    for (const id of moved?.alone ?? []) devices.add(id)
    if (devices.size > mostTouched) return undefined
    const sessions = Map.groupBy(cut, (s) => s.pool_id)
    return {
      devices,
      moved: moved?.together ?? [],
      pools: new Set(subjects('pool')),
      gateways: new Set(subjects('gateway')),
      sessions: new Map([...sessions].map(([pool, s]) => [pool, s.map(viewCut)])),
      trust: rows.some((r) => r.kind === 'trust'),
    }
  }

  return {
    /**
     * Undefined if a snapshot is needed: the change log no longer reaches back that far, too much was changed, or the
     * asker sends no `asOf` and time matters. Changes by the passing of time alone are not included.
     */
    between: (tenant: TenantId, span: Span): Promise<Touched | undefined> => {
      if (span.since === span.to.seq) return Promise.resolve(nothing)
      const key = `${tenant}|${span.since}|${span.asOf}|${span.to.seq}`
      const before = known.get(key)
      if (before) return before
      const touched = work(tenant, span)
      known.set(key, touched)
      touched.catch(() => known.delete(key))
      return touched
    },
    /**
     * Returns ended sessions for a snapshot: those that the control plane ended while older answers may still be in
     * force (`lifetimeMs`), and those whose devices are still blocked.
     */
    cutLately: async (tenant: TenantId, poolId: string, lifetimeMs: number): Promise<CutSession[]> => {
      const at = now()
      const before = (ms: number) => new Date(at.getTime() - ms - clockMargin)
      const longest = Math.max(lifetimeMs, mostBlockSeconds * second)
      const times = { at, cutSince: before(lifetimeMs), blockedSince: before(longest) }
      const rows = await db.inTenant(tenant, (tx) => queries.cutInPool(tx, tenant, poolId, times, mostTouched))
      return rows.map(viewCut)
    },
  }
}
export type Deltas = ReturnType<typeof createDeltas>

const viewCut = (r: { session_id: string; device_id: string; block_until: Date | null }): CutSession => ({
  session_id: encodeId('vpn_session', r.session_id),
  device_id: encodeId('device', r.device_id),
  block_until: r.block_until?.toISOString() ?? null,
})
