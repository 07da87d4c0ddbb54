import type { Page, PageQuery } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Activity } from '../reports/activity.ts'
import type { GatewayStatus } from '../reports/status.ts'
import { createGatewaySnapshots, creationOf, type GatewaySnapshot, inOrder, namePlaceOf } from './gateway-snapshots.ts'
import { activityOfGateways } from './gateways.queries.ts'
import type { Registry } from './registry.ts'

type ListFilter = { pool_id?: string; status?: GatewayStatus; version?: string; q?: string }
export type Listed = {
  snapshot: GatewaySnapshot
  activity: Awaited<ReturnType<typeof activityOfGateways>>[number] | undefined
}

/**
 * Lists the gateways of all pools. Status and version change with every report, so no index covers them: filters and
 * order apply to the registry in memory. One query then reads the reports of the page's gateways.
 */
export function createGatewayList({
  db,
  pager,
  feed,
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'db' | 'pager' | 'feed' | 'now'> & { registry: Registry; activity: Activity }) {
  const standings = createGatewaySnapshots({ registry, activity })

  return async (tenant: TenantId, { limit, cursor, sort = 'name', ...filter }: PageQuery & ListFilter) => {
    // Makes a gateway visible that another replica has just registered.
    await feed.catchUp()
    const placeOf = sort.endsWith('name') ? namePlaceOf : creationOf
    const direction = sort.startsWith('-') ? -1 : 1
    const fitting = (await standings(tenant, now()))
      .filter(fits(filter))
      .sort((a, b) => direction * inOrder(placeOf(a), placeOf(b)))
    const query = { ...filter, sort, ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const page = await pager.gather(
      { operation: 'listAllGateways', tenant, query },
      async (after, most) => ({
        found: fitting.filter((s) => after === undefined || direction * inOrder(placeOf(s), after) > 0).slice(0, most),
      }),
      placeOf,
    )
    const ids = page.items.map((s) => s.gateway.gateway_id)
    const rows = ids.length === 0 ? [] : await db.inTenant(tenant, (tx) => activityOfGateways(tx, tenant, ids))
    const reports = new Map(rows.map((a) => [a.gateway_id, a]))
    const items = page.items.map((snapshot) => ({
      snapshot,
      activity: reports.get(snapshot.gateway.gateway_id),
    }))
    return { items, next_cursor: page.next_cursor } satisfies Page<Listed>
  }
}

const fits =
  ({ pool_id, status, version, q }: ListFilter) =>
  (s: GatewaySnapshot): boolean =>
    (pool_id === undefined || s.gateway.pool_id === pool_id) &&
    (status === undefined || s.status === status) &&
    (version === undefined || s.version === version) &&
    (q === undefined || s.gateway.name.toLowerCase().startsWith(q.toLowerCase()))
