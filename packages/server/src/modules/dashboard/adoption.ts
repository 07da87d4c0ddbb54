import type { Contract, Output } from '@holdfast/contract'
import { background } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { eachTenant } from '../../kernel/each-tenant.ts'
import { encodeId, missing } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import { appliedLater } from '../devices/index.ts'
import { enforcedBy } from '../gateways/index.ts'
import type { LastPoint, Point } from './adoption.queries.ts'
import * as queries from './adoption.queries.ts'
import { followedMs, gridTimes } from './adoption-grid.ts'
import type { DashboardDeps } from './deps.ts'

type Shown = Output<Contract['getPolicyAdoption']>
/** A job run delayed by up to this time still finds the due points. Older ones are added with the next point. */
const lookBackMs = 90 * second
const atOnce = 500

/** Adoption of published versions over time. A job samples it while devices or gateways are pending. */
export function createAdoption({ db, now, policy }: Pick<DashboardDeps, 'db' | 'now' | 'policy'>) {
  /** Finds delivered versions that are not fully adopted and are due for a point. */
  async function due(nowMs: number): Promise<Map<TenantId, Map<string, LastPoint | undefined>>> {
    const published = await policy.publishedSince(new Date(nowMs - followedMs))
    const found = new Map<TenantId, Map<string, LastPoint | undefined>>()
    for (let i = 0; i < published.length; i += atOnce) {
      const some = published.slice(i, i + atOnce)
      const [tenants, bundles] = [some.map((p) => p.tenant_id), some.map((p) => p.bundle_id)]
      const last = await db.acrossTenants((tx) => queries.lastPoints(tx, tenants, bundles), background)
      const byBundle = new Map(last.map((point) => [point.bundle_id, point]))
      for (const { tenant_id, bundle_id, published_at } of some) {
        const point = byBundle.get(bundle_id)
        if (point && point.devices_pending + point.gateways_pending === 0) continue
        const afterMs = point ? Math.max(point.at.getTime(), nowMs - lookBackMs) : null
        if (gridTimes(published_at.getTime(), afterMs, nowMs).length === 0) continue
        found.set(tenant_id, (found.get(tenant_id) ?? new Map()).set(bundle_id, point))
      }
    }
    return found
  }

  async function sample(tenant: TenantId, bundles: Map<string, LastPoint | undefined>): Promise<void> {
    const at = now()
    for (const { bundle, reach } of await policy.current(tenant)) {
      if (!bundles.has(bundle.bundle_id)) continue
      const last = bundles.get(bundle.bundle_id)
      const times = gridTimes(bundle.published_at.getTime(), last?.at.getTime() ?? null, at.getTime())
      const grid = times.map((ms) => new Date(ms))
      const { later, gateways } = await db.inTenant(
        tenant,
        async (tx) => ({
          later: await appliedLater(tx, tenant, reach.digests, grid),
          gateways: (await enforcedBy(tx, tenant)).filter((g) => g.last_seen_at !== null),
        }),
        background,
      )
      const confirmed = gateways
        .filter((g) => g.seq !== null && g.seq >= bundle.seq)
        .map((g) => (g.seq_at ?? g.applied_at)?.getTime() ?? 0)
      const points = grid.map((time, i): Point => {
        // A repeated confirmation has a later time, but must not lower the count.
        const devices = atLeast(last?.devices_applied, reach.applied, reach.applied - (later[i] ?? 0))
        const said = confirmed.filter((ms) => ms <= time.getTime()).length
        const applied = atLeast(last?.gateways_applied, confirmed.length, said)
        return {
          at: time,
          devices_applied: devices,
          devices_pending: reach.applied + reach.pending - devices,
          gateways_applied: applied,
          gateways_pending: gateways.length - applied,
        }
      })
      const changed = points.filter((point, i) => !isSame(point, i === 0 ? last : points[i - 1]))
      if (changed.length > 0)
        await db.inTenant(tenant, (tx) => queries.insertPoints(tx, tenant, bundle.bundle_id, changed), background)
    }
  }

  return {
    sweep: async (): Promise<void> => {
      const found = await due(now().getTime())
      await eachTenant(found.keys(), (tenant) => sample(tenant, found.get(tenant)!))
    },
    read: async (tenant: TenantId, bundleId: string): Promise<Shown> => {
      const bundle = (await policy.published(tenant, bundleId)) ?? missing('policy_bundle')
      const points = await db.inTenant(tenant, (tx) => queries.pointsOf(tx, tenant, bundleId))
      const since = bundle.published_at.getTime()
      return {
        bundle_id: encodeId('policy_bundle', bundleId),
        version: bundle.version,
        channel: bundle.channel,
        published_at: bundle.published_at.toISOString(),
        running: bundle.isDelivered,
        devices: timesOf(points, since, (p) => [p.devices_applied, p.devices_pending]),
        gateways: timesOf(points, since, (p) => [p.gateways_applied, p.gateways_pending]),
        points: points.map((p) => ({
          at: p.at.toISOString(),
          devices: { applied: p.devices_applied, pending: p.devices_pending },
          gateways: { applied: p.gateways_applied, pending: p.gateways_pending },
        })),
      }
    },
  }
}
export type Adoption = ReturnType<typeof createAdoption>

/** Clamps a figure between the previous count and the current count. */
const atLeast = (before: number | undefined, most: number, figure: number): number =>
  Math.min(most, Math.max(figure, before ?? 0, 0))

const isSame = (a: Point, b: Point | undefined): boolean =>
  b !== undefined &&
  a.devices_applied === b.devices_applied &&
  a.devices_pending === b.devices_pending &&
  a.gateways_applied === b.gateways_applied &&
  a.gateways_pending === b.gateways_pending

/** Seconds until the given percentage had applied the version first. */
function timesOf(
  points: readonly Point[],
  sinceMs: number,
  figuresOf: (point: Point) => [applied: number, pending: number],
): Shown['devices'] {
  const timeTo = (percent: number): number | null => {
    const reached = points.find((point) => {
      const [applied, pending] = figuresOf(point)
      return applied > 0 && applied * 100 >= percent * (applied + pending)
    })
    return reached ? Math.round((reached.at.getTime() - sinceMs) / second) : null
  }
  return { time_to_50: timeTo(50), time_to_90: timeTo(90), time_to_99: timeTo(99) }
}
