import { background } from '../../../../db/database.ts'
import type { TenantId } from '../../../../kernel/actor.ts'
import { eachTenant } from '../../../../kernel/each-tenant.ts'
import type { GatewaysDeps } from '../../deps.ts'
import { degradedAfterMs, downAfterMs } from '../../reports/status.ts'
import * as queries from './history.queries.ts'
import { type RecordedState, type Transition, transitionsOf } from './transitions.ts'

const silences = { degradedAfterMs, downAfterMs }
type Moved = { gatewayId: string; recorded: RecordedState | undefined; transitions: Transition[] }
/** Maximum of gateways of a tenant in one transaction. */
const atOnce = 1000

/**
 * Records the state changes of all gateways. A silence that ended between two runs is recorded too: the report that
 * ended it has stored its times. Transitions start from the recorded state, so a replica that finds another state
 * recorded writes nothing.
 */
export const createStateRecorder =
  ({ db, now, listening }: Pick<GatewaysDeps, 'db' | 'now' | 'listening'>) =>
  async (): Promise<void> => {
    const at = now()
    const listenedSinceMs = (await listening.since()).getTime()
    const rows = await db.acrossTenants((tx) => queries.mayHaveMoved(tx, at, silences), background)
    const byTenant = Map.groupBy(rows, (r) => r.tenant_id)
    await eachTenant(byTenant.keys(), async (tenant) => {
      const moved = (byTenant.get(tenant) ?? []).map((row): Moved => {
        const recorded = row.state && row.since ? { state: row.state, sinceMs: row.since.getTime() } : undefined
        const facts = {
          gateway: {
            draining: row.draining,
            drain_reason: row.drain_reason,
            public_key: row.public_key,
            proposed_key: row.proposed_key,
            drainedAtMs: row.drained_at?.getTime() ?? null,
            createdAtMs: row.created_at.getTime(),
          },
          lastSeenMs: row.last_seen_at?.getTime() ?? null,
          silence:
            row.silent_from && row.heard_again_at
              ? { fromMs: row.silent_from.getTime(), toMs: row.heard_again_at.getTime() }
              : null,
          listenedSinceMs,
        }
        return { gatewayId: row.gateway_id, recorded, transitions: transitionsOf(recorded, facts, at.getTime()) }
      })
      const some = moved.filter((m) => m.transitions.length > 0)
      for (let i = 0; i < some.length; i += atOnce) await write(tenant, some.slice(i, i + atOnce))
    })

    async function write(tenant: TenantId, moves: readonly Moved[]): Promise<void> {
      await db.inTenant(
        tenant,
        async (tx) => {
          const ids = moves.map((m) => m.gatewayId)
          const locked = new Map((await queries.lockStates(tx, tenant, ids)).map((r) => [r.gateway_id, r]))
          const still = moves.filter(({ gatewayId, recorded }) => {
            const row = locked.get(gatewayId)
            return recorded && row?.state === recorded.state && row.since.getTime() === recorded.sinceMs
          })
          const fresh = moves.filter(({ gatewayId, recorded }) => !recorded && !locked.has(gatewayId))
          const inserted = new Set(fresh.length > 0 ? await queries.insertStates(tx, tenant, fresh.map(ending)) : [])
          if (still.length > 0) await queries.updateStates(tx, tenant, still.map(ending))
          const written = [...still, ...fresh.filter((m) => inserted.has(m.gatewayId))]
          const transitions = written.flatMap((m) => m.transitions.map((t) => ({ ...t, gatewayId: m.gatewayId })))
          if (transitions.length > 0) await queries.insertTransitions(tx, tenant, transitions)
        },
        background,
      )
    }
  }

/** Returns the state to record after the transitions. */
function ending({ gatewayId, transitions }: Moved) {
  const { state, atMs } = transitions.at(-1)!
  return { gatewayId, state, since: new Date(atMs) }
}
