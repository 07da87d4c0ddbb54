import type { PageQuery } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { minute } from '../../../kernel/time.ts'
import type { GatewaysDeps } from '../deps.ts'
import { createGatewaySnapshots, type GatewaySnapshot, inOrder, namePlaceOf } from '../registry/gateway-snapshots.ts'
import { activityOfGateways } from '../registry/gateways.queries.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import type { GatewayStatus } from '../reports/status.ts'
import { relevantKinds } from '../sync/waiters.ts'
import * as queries from './health.queries.ts'

/** Time after which a gateway should have received and applied a change. */
const appliedWithinMs = minute

type HealthFilter = { poolId?: string; status?: GatewayStatus }
export type Health = GatewaySnapshot & {
  activity: Awaited<ReturnType<typeof activityOfGateways>>[number] | undefined
  expectedSeq: number
  inQuestion: Counts
}
type Counts = { stale: number; conflict: number; unauthorized: number }
type Found = { items: Health[]; next_cursor: string | null; statuses: Record<GatewayStatus, number> | null; at: Date }

/**
 * Health of a tenant's gateways. The registry and last reports come from memory; details are read for one page only.
 */
export function createGatewayHealth({
  db,
  pager,
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'db' | 'pager' | 'now'> & { registry: Registry; activity: Activity }) {
  const standings = createGatewaySnapshots({ registry, activity })

  async function detailed(tenant: TenantId, page: readonly GatewaySnapshot[], at: Date): Promise<Health[]> {
    if (page.length === 0) return []
    const ids = page.map((s) => s.gateway.gateway_id)
    const heardBy = new Date(at.getTime() - appliedWithinMs)
    const [rows, expectedSeq, questions] = await db.inTenant(tenant, async (tx) => [
      await activityOfGateways(tx, tenant, ids),
      await queries.newestTold(tx, tenant, relevantKinds, heardBy),
      await queries.questionsOfGateways(tx, tenant, ids),
    ])
    const activities = new Map(rows.map((a) => [a.gateway_id, a]))
    const counts = new Map<string, Counts>()
    for (const { gateway_id, verdict, connections } of questions)
      counts.set(gateway_id, { ...(counts.get(gateway_id) ?? noQuestions), [verdict]: connections })
    return page.map((snapshot) => {
      const id = snapshot.gateway.gateway_id
      return { ...snapshot, activity: activities.get(id), expectedSeq, inQuestion: counts.get(id) ?? noQuestions }
    })
  }

  return {
    /** Counts the gateways by status. */
    statuses: async (tenant: TenantId): Promise<Record<GatewayStatus, number>> =>
      countStatuses(await standings(tenant, now())),

    list: async (tenant: TenantId, filter: HealthFilter, page: PageQuery): Promise<Found> => {
      const at = now()
      const all = await standings(tenant, at)
      const fitting = all
        .filter(({ gateway }) => filter.poolId === undefined || gateway.pool_id === filter.poolId)
        .filter(({ status }) => filter.status === undefined || status === filter.status)
        .sort((a, b) => inOrder(namePlaceOf(a), namePlaceOf(b)))
      const list = { operation: 'gatewayHealth', tenant, query: { ...page, ...filter } }
      const found = await pager.gather(
        list,
        async (after, most) => ({
          found: fitting.filter((s) => after === undefined || inOrder(namePlaceOf(s), after) > 0).slice(0, most),
        }),
        namePlaceOf,
      )
      const statuses = page.cursor === undefined ? countStatuses(all) : null
      return { items: await detailed(tenant, found.items, at), next_cursor: found.next_cursor, statuses, at }
    },
  }
}
export type HealthReads = ReturnType<typeof createGatewayHealth>

const noQuestions: Counts = { stale: 0, conflict: 0, unauthorized: 0 }

function countStatuses(all: readonly GatewaySnapshot[]): Record<GatewayStatus, number> {
  const counts = { healthy: 0, degraded: 0, draining: 0, down: 0, never_seen: 0, pending: 0 }
  for (const { status } of all) counts[status]++
  return counts
}
