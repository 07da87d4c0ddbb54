import type { TenantId } from '../../../kernel/actor.ts'
import { type Change, type ChangeKind, everything } from '../../../memory/changes.ts'
import type { GatewaysDeps } from '../deps.ts'
import { statusOf } from '../reports/status.ts'
import * as queries from './confirmed.queries.ts'

/** `seq`: what has to be enforced; null: nothing that gateways are told. Who is not heard of can not say anything. */
export type Confirmation = {
  seq: number | null
  confirmed: number
  waiting: { id: string; name: string }[]
  unreachable: { id: string; name: string }[]
}
/** Of these each gateway of the tenant is told; of a pool or a session only some are. */
const toldToAll: readonly ChangeKind[] = ['device', 'user', 'group', 'policy', 'trust']
const anyGateway = { draining: false, drain_reason: null, public_key: null, proposed_key: null }

/** Which gateways say that they enforce all that was changed after a sequence number and concerns gateways. */
export function createConfirmed({ db, fleet, now }: Pick<GatewaysDeps, 'db' | 'fleet' | 'now'>) {
  /** Users and groups without a device change nothing at a gateway. */
  async function isTold(tenant: TenantId, { kind, subject }: Change): Promise<boolean> {
    if (subject === everything) return true
    if (kind === 'user') return (await fleet.devicesOfUser(tenant, subject)).length > 0
    return kind !== 'group' || (await fleet.devicesOfGroup(tenant, subject)).length > 0
  }

  return async (tenant: TenantId, since: number): Promise<Confirmation> => {
    const { touched, gateways } = await db.inTenant(tenant, async (tx) => ({
      touched: await queries.touchedSince(tx, tenant, toldToAll, since),
      gateways: await queries.enforcedBy(tx, tenant),
    }))
    let seq: number | null = null
    for (const change of touched) {
      if (!(await isTold(tenant, change))) continue
      seq = change.seq
      break
    }
    const at = now().getTime()
    const found: Confirmation = { seq, confirmed: 0, waiting: [], unreachable: [] }
    for (const { gateway_id: id, name, last_seen_at, seq: enforced } of gateways) {
      const { status } = statusOf(anyGateway, last_seen_at?.getTime() ?? null, at)
      if (seq === null || (enforced !== null && enforced >= seq)) found.confirmed++
      else (status === 'healthy' ? found.waiting : found.unreachable).push({ id, name })
    }
    return found
  }
}
