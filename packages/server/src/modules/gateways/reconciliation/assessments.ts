import type { ConnectionVerdict } from '@holdfast/contract/connection-truth'
import type { Tx } from '../../../db/database.ts'
import { findNames, type Names } from '../../../db/names.ts'
import type { PageQuery } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Connections, WitnessedConnection } from './connections.ts'
import * as questions from './questions.queries.ts'
import type { ConnectionKey } from './witness-reports.queries.ts'
import * as words from './witness-reports.queries.ts'

export type ConnectionFilter = { deviceId?: string; userId?: string; gatewayId?: string }
/** A connection with the names of its parties, and the time since when it is in question. */
export type ShownConnection = WitnessedConnection & {
  since: Date | null
  /** Undefined if there is no such device. */
  deviceName: string | undefined
  names: Names
}
/** Returns the user of the connection. */
export const userOf = ({ device, session }: WitnessedConnection): string | null =>
  device?.userId ?? session?.user_id ?? null
type Found = { items: ShownConnection[]; next_cursor: string | null; counts: Counts | null }
type Counts = { stale: number; conflict: number; unauthorized: number }

export function createAssessments({
  db,
  pager,
  connections,
}: Pick<GatewaysDeps, 'db' | 'pager'> & { connections: Connections }) {
  async function showConnections(
    tx: Tx,
    tenant: TenantId,
    found: readonly WitnessedConnection[],
  ): Promise<ShownConnection[]> {
    const ids = found.map((c) => c.key.deviceId)
    const names = await findNames(tx, tenant, {
      device: ids,
      user: found.map(userOf),
      gateway: found.map((c) => c.key.gatewayId),
      gateway_pool: found.map((c) => c.poolId),
    })
    const openQuestions = await questions.questionsOf(tx, tenant, ids)
    const since = new Map(
      openQuestions.map((q) => [keyOf({ deviceId: q.device_id, gatewayId: q.gateway_id }), q.since]),
    )
    return found.map((c) => ({
      ...c,
      since: c.verdict === 'consistent' ? null : (since.get(keyOf(c.key)) ?? null),
      deviceName: names.of('device', c.key.deviceId) ?? undefined,
      names,
    }))
  }

  async function countsOf(tx: Tx, tenant: TenantId): Promise<Counts> {
    const counts = { stale: 0, conflict: 0, unauthorized: 0 }
    for (const { verdict, connections } of await questions.countsByGateway(tx, tenant)) counts[verdict] += connections
    return counts
  }

  const listed = (tenant: TenantId, query: PageQuery & Record<string, unknown>) => ({
    operation: 'connectionTruth',
    tenant,
    query,
  })

  return {
    /**
     * Without a verdict, or with `consistent`: active sessions, newest first. With another verdict: connections that
     * were last found so, longest first. Each is assessed again now, and left out if its verdict has changed; so a page
     * may be short and still have a next one.
     */
    list: async (
      tenant: TenantId,
      verdict: ConnectionVerdict | undefined,
      filter: ConnectionFilter,
      page: PageQuery,
    ): Promise<Found> => {
      const memory = await connections.memory(tenant)
      const found = await db.inTenant(tenant, async (tx) => {
        const list = listed(tenant, { ...page, ...filter, verdict })
        const counts = page.cursor === undefined ? await countsOf(tx, tenant) : null
        if (verdict === undefined || verdict === 'consistent') {
          const { items, next_cursor } = await pager.list(words.selectActive(tx, tenant, filter), {
            ...list,
            orders: { started_at: { column: 'started_at', kind: 'time' } },
            otherwise: '-started_at',
            tie: 'session_id',
          })
          const keys = items.map((s) => ({ deviceId: s.device_id, gatewayId: s.gateway_id }))
          const read = await connections.read(tx, tenant, memory, keys, items)
          return { items: await showConnections(tx, tenant, read), next_cursor, counts }
        }
        const { items, next_cursor } = await pager.list(
          questions.selectInQuestion(tx, tenant, { ...filter, verdict }),
          {
            ...list,
            orders: { since: { column: 'since', kind: 'time' } },
            otherwise: 'since',
            tie: 'question_id',
          },
        )
        const keys = items.map((q) => ({ deviceId: q.device_id, gatewayId: q.gateway_id }))
        return {
          items: await showConnections(tx, tenant, await connections.read(tx, tenant, memory, keys)),
          next_cursor,
          counts,
        }
      })
      return { ...found, items: found.items.filter((c) => verdict === undefined || c.verdict === verdict) }
    },
  }
}
export type Assessments = ReturnType<typeof createAssessments>

const keyOf = ({ deviceId, gatewayId }: ConnectionKey) => `${deviceId}|${gatewayId ?? ''}`
