import { findNames, type Names } from '../../../db/names.ts'
import type { PageQuery } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { missing } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import { deviceSilentMs } from '../reconciliation/assess.ts'
import type { KnownGateway, Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import { type GatewayStatus, gatewayStatusOf, isSilent } from '../reports/status.ts'
import { closedBy } from '../sync/own-part.ts'
import type { Affected, SessionOutcome } from './impact.queries.ts'
import * as queries from './impact.queries.ts'

/** Statuses in which devices are sent to a gateway. */
const served: ReadonlySet<GatewayStatus> = new Set(['healthy', 'degraded'])
type Shown = Affected & { names: Names }

/** Devices affected by a gateway. The cost is proportional to the gateway's current and past sessions. */
export function createImpact({
  db,
  pager,
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'db' | 'pager' | 'now'> & { registry: Registry; activity: Activity }) {
  return {
    read: async (
      tenant: TenantId,
      gatewayId: string,
      { since: sinceInput, outcome }: { since?: Date; outcome?: SessionOutcome },
      page: PageQuery,
    ) => {
      const at = now()
      const directory = await registry.of(tenant)
      const gateway = directory.gateways.get(gatewayId) ?? missing('gateway')
      const { byGateway } = await activity.of(tenant)
      const seenOf = (id: string) => byGateway.get(id)?.lastSeenMs ?? null
      const lastSeen = seenOf(gatewayId)
      const silent = isSilent(lastSeen, at.getTime())
      const { status, status_reason } = gatewayStatusOf(gateway, lastSeen, at.getTime())
      const since = sinceInput ?? (silent && lastSeen !== null ? new Date(lastSeen) : (gateway.drained_at ?? at))
      const pool = directory.pools.get(gateway.pool_id) ?? missing('gateway_pool')
      const isServing = (g: KnownGateway) =>
        served.has(gatewayStatusOf(g, seenOf(g.gateway_id), at.getTime()).status) && !closedBy(g, pool)
      const others = directory.gatewaysOf(gateway.pool_id).filter((g) => g.gateway_id !== gatewayId)
      const saidSince = new Date(Math.max(since.getTime(), at.getTime() - deviceSilentMs))
      const question = { gatewayId, since, isSilent: silent, saidSince }
      const { found, counted } = await db.inTenant(tenant, async (tx) => {
        const found = await pager.gather<Shown>(
          // The time of the request is not part of the query, so a cursor stays valid for the next page.
          {
            operation: `gatewayImpact|${gatewayId}`,
            tenant,
            query: { ...page, since: sinceInput?.getTime(), outcome },
          },
          async (after, most) => {
            const rows = await queries.listAffected(tx, tenant, { ...question, after: after?.[0] }, { outcome, most })
            const names = await findNames(tx, tenant, {
              device: rows.map((r) => r.device_id),
              user: rows.map((r) => r.user_id),
              gateway: rows.map((r) => r.now_gateway_id),
            })
            return { found: rows.map((r) => ({ ...r, names })) }
          },
          (r) => [r.device_id, r.session_id],
        )
        const counted = page.cursor === undefined ? await queries.countAffected(tx, tenant, question) : null
        return { found, counted }
      })
      return {
        ...found,
        status,
        status_reason,
        since,
        othersServing: others.filter(isServing).length,
        counts: counted && countsOf(counted),
      }
    },
  }
}
export type Impact = ReturnType<typeof createImpact>

function countsOf(counted: readonly { outcome: SessionOutcome; devices: number }[]) {
  const counts = { devices: 0, on_it: 0, moved: 0, stuck: 0, left: 0 }
  for (const { outcome, devices } of counted) {
    counts[outcome] += devices
    counts.devices += devices
  }
  return counts
}
