import type { historyRanges } from '@holdfast/contract/gateway-history'
import type { PageQuery } from '../../../../db/page.ts'
import type { TenantId } from '../../../../kernel/actor.ts'
import { missing } from '../../../../kernel/ids.ts'
import { day, hour } from '../../../../kernel/time.ts'
import type { GatewaysDeps } from '../../deps.ts'
import { createGatewaySnapshots, inOrder, namePlaceOf } from '../../registry/gateway-snapshots.ts'
import type { Registry } from '../../registry/registry.ts'
import type { Activity } from '../../reports/activity.ts'
import type { GatewayStatus } from '../../reports/status.ts'
import type { HistoryWindow } from './history.queries.ts'
import * as queries from './history.queries.ts'

type Range = (typeof historyRanges)[number]
type Seconds = Record<GatewayStatus, number>
type Step = { atMs: number; seconds: Seconds; worst: GatewayStatus | null }

const shapes = { '24h': { steps: 24, ms: hour }, '30d': { steps: 30, ms: day } }
/** States, the worst first. */
const severity: readonly GatewayStatus[] = ['down', 'degraded', 'never_seen', 'pending', 'draining', 'healthy']

/** Reads recorded states of gateways over time. */
export function createHistory({
  db,
  pager,
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'db' | 'pager' | 'now'> & { registry: Registry; activity: Activity }) {
  const standings = createGatewaySnapshots({ registry, activity })

  /** Returns a range of whole hours or days in UTC. The last one is not over yet. */
  function windowOf(range: Range): HistoryWindow {
    const { steps, ms } = shapes[range]
    const to = now()
    const from = new Date(Math.floor(to.getTime() / ms) * ms - (steps - 1) * ms)
    return { from, to, stepSeconds: ms / 1000 }
  }

  return {
    of: async (tenant: TenantId, gatewayId: string, range: Range) => {
      const gateway = (await registry.of(tenant)).gateways.get(gatewayId) ?? missing('gateway')
      const window = windowOf(range)
      return db.inTenant(tenant, async (tx) => {
        const times = await queries.timeInStates(tx, tenant, [gatewayId], window)
        const sessions = await queries.sessionPeaks(tx, tenant, gatewayId, window)
        const changes = await queries.countTransitions(tx, tenant, gatewayId, window)
        const steps = stepsOf(times, window).map((step) => ({ ...step, sessions: sessions.get(step.atMs) ?? null }))
        return { name: gateway.name, window, changes, steps }
      })
    },

    list: async (tenant: TenantId, { range, poolId }: { range: Range; poolId?: string }, page: PageQuery) => {
      const window = windowOf(range)
      const fitting = (await standings(tenant, window.to))
        .filter(({ gateway }) => poolId === undefined || gateway.pool_id === poolId)
        .sort((a, b) => inOrder(namePlaceOf(a), namePlaceOf(b)))
      const found = await pager.gather(
        { operation: 'listGatewayHistory', tenant, query: { ...page, poolId } },
        async (after, most) => ({
          found: fitting.filter((s) => after === undefined || inOrder(namePlaceOf(s), after) > 0).slice(0, most),
        }),
        namePlaceOf,
      )
      const ids = found.items.map((s) => s.gateway.gateway_id)
      const times =
        ids.length > 0 ? await db.inTenant(tenant, (tx) => queries.timeInStates(tx, tenant, ids, window)) : []
      const byGateway = Map.groupBy(times, (t) => t.gateway_id)
      const items = found.items.map((snapshot) => {
        const steps = stepsOf(byGateway.get(snapshot.gateway.gateway_id) ?? [], window)
        return { standing: snapshot, states: steps.map((s) => s.worst) }
      })
      return { window, items, next_cursor: found.next_cursor }
    },
  }
}
export type History = ReturnType<typeof createHistory>

function stepsOf(
  times: readonly { at: Date; state: GatewayStatus; seconds: number }[],
  { from, to, stepSeconds }: HistoryWindow,
): Step[] {
  const steps: Step[] = []
  for (let at = from.getTime(); at < to.getTime(); at += stepSeconds * 1000)
    steps.push({ atMs: at, seconds: { ...noTime }, worst: null })
  for (const { at, state, seconds } of times) {
    const step = steps[(at.getTime() - from.getTime()) / (stepSeconds * 1000)]
    if (step) step.seconds[state] += seconds
  }
  for (const step of steps) step.worst = severity.find((state) => step.seconds[state] > 0) ?? null
  return steps
}
const noTime: Seconds = { healthy: 0, degraded: 0, draining: 0, down: 0, never_seen: 0, pending: 0 }
