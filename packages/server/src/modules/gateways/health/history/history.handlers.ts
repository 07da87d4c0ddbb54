import type { Handlers } from '../../../../http/handlers.ts'
import { encodeId, idOf } from '../../../../kernel/ids.ts'
import type { GatewayStatus } from '../../reports/status.ts'
import type { HistoryWindow } from './history.queries.ts'
import type { History } from './history.ts'

export const historyHandlers = (history: History) =>
  ({
    getGatewayHistory: async ({ actor, params, query: { range = '24h' } }) => {
      const { name, window, changes, steps } = await history.of(
        actor.tenantId,
        idOf('gateway', params.gateway_id),
        range,
      )
      return {
        gateway_id: params.gateway_id,
        gateway_name: name,
        range,
        ...viewWindow(window),
        changes,
        steps: steps.map(({ atMs, worst, seconds, sessions }) => ({
          at: new Date(atMs).toISOString(),
          worst,
          seconds: whole(seconds),
          sessions_most: sessions,
        })),
      }
    },
    listGatewayHistory: async ({ actor, query: { range = '24h', pool_id, ...page } }) => {
      const filter = { range, ...(pool_id !== undefined && { poolId: idOf('gateway_pool', pool_id) }) }
      const { window, items, next_cursor } = await history.list(actor.tenantId, filter, page)
      return {
        range,
        ...viewWindow(window),
        next_cursor,
        items: items.map(({ standing: { gateway, pool, status }, states }) => ({
          gateway_id: encodeId('gateway', gateway.gateway_id),
          gateway_name: gateway.name,
          pool_id: encodeId('gateway_pool', pool.pool_id),
          pool_name: pool.name,
          status,
          states,
        })),
      }
    },
  }) satisfies Partial<Handlers>

const viewWindow = ({ from, to, stepSeconds }: HistoryWindow) => ({
  from: from.toISOString(),
  to: to.toISOString(),
  step_seconds: stepSeconds,
})

const whole = (seconds: Record<GatewayStatus, number>): Record<GatewayStatus, number> =>
  Object.fromEntries(Object.entries(seconds).map(([state, s]) => [state, Math.round(s)])) as typeof seconds
