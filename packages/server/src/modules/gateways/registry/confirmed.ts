import type { TenantId } from '../../../kernel/actor.ts'
import type { GatewaysDeps } from '../deps.ts'
import { relevantKinds } from '../pull/waiters.ts'
import { statusOf } from '../reports/status.ts'
import * as queries from './confirmed.queries.ts'

/** UUIDs. Who is not heard of can not say anything. */
export type Confirmation = {
  seq: number | null
  confirmed: number
  waiting: { id: string; name: string }[]
  unreachable: { id: string; name: string }[]
}
const anyGateway = { draining: false, drain_reason: null, public_key: null, proposed_key: null }

/** Which gateways say that they enforce all that was changed after a sequence number and concerns gateways. */
export const createConfirmed =
  ({ db, now }: Pick<GatewaysDeps, 'db' | 'now'>) =>
  (tenant: TenantId, since: number): Promise<Confirmation> =>
    db.inTenant(tenant, async (tx) => {
      const seq = await queries.newestOf(tx, tenant, relevantKinds, since)
      const at = now().getTime()
      const found: Confirmation = { seq, confirmed: 0, waiting: [], unreachable: [] }
      for (const { gateway_id: id, name, last_seen_at, seq: enforced } of await queries.enforcedBy(tx, tenant)) {
        const { status } = statusOf(anyGateway, last_seen_at?.getTime() ?? null, at)
        if (seq === null || (enforced !== null && enforced >= seq)) found.confirmed++
        else (status === 'healthy' ? found.waiting : found.unreachable).push({ id, name })
      }
      return found
    })
