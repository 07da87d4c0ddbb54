import type { TenantId } from '../../../kernel/actor.ts'
import { inBatches } from '../../../kernel/batches.ts'
import { type Change, type ChangeKind, everything } from '../../../replication/changes.ts'
import type { GatewaysDeps } from '../deps.ts'
import { gatewayStatusOf } from '../reports/status.ts'
import * as queries from './confirmed.queries.ts'

/**
 * Gateways that must enforce a change: number of those that confirmed it, those that have not yet, and those that do
 * not report.
 */
type Confirmation = {
  confirmed: number
  waiting: { id: string; name: string }[]
  unreachable: { id: string; name: string }[]
}
/** A gateway that must enforce a change. `confirmedAt`: time of its confirmation. */
type Confirming = { id: string; name: string; isReachable: boolean; confirmedAt: Date | null; isConfirmed: boolean }
/** Kinds of changes that every gateway of the tenant receives. Changes of a pool or a session concern only some. */
const toldToAll: readonly ChangeKind[] = ['device', 'user', 'group', 'policy', 'trust']
/** Changes that are read at once. */
const batch = 1000
const anyGateway = { draining: false, drain_reason: null, public_key: null, proposed_key: null }

/** Confirmations of gateways that they enforce a change. */
export function createConfirmations({ db, fleet, now }: Pick<GatewaysDeps, 'db' | 'fleet' | 'now'>) {
  /** Users and groups without a device change nothing at a gateway. */
  async function isTold(tenant: TenantId, { kind, subject }: Change): Promise<boolean> {
    if (subject === everything) return true
    if (kind === 'user') return (await fleet.devicesOfUser(tenant, subject)).length > 0
    return kind !== 'group' || (await fleet.devicesOfGroup(tenant, subject)).length > 0
  }

  async function confirming(tenant: TenantId, seq: number): Promise<Confirming[]> {
    const gateways = await db.inTenant(tenant, (tx) => queries.enforcedBy(tx, tenant))
    const at = now().getTime()
    return gateways.map(({ gateway_id: id, name, last_seen_at, seq: enforced, seq_at, applied_at }) => {
      const { status } = gatewayStatusOf(anyGateway, last_seen_at?.getTime() ?? null, at)
      const isConfirmed = enforced !== null && enforced >= seq
      const confirmedAt = isConfirmed ? (seq_at ?? applied_at) : null
      return { id, name, isReachable: status === 'healthy', isConfirmed, confirmedAt }
    })
  }

  return {
    /**
     * Returns every gateway that is not locked, whether it enforces all changes up to a sequence number, and since
     * when.
     */
    each: confirming,

    /** Returns the newest change after a sequence number that gateways receive; null if there is none. */
    newestTold: async (tenant: TenantId, since: number): Promise<number | null> => {
      const batches = inBatches<queries.ChangeBefore>(batch, (before, limit) =>
        db.inTenant(tenant, (tx) => queries.changesSince(tx, tenant, { kinds: toldToAll, since }, before, limit)),
      )
      // A directory may change thousands of users without a device after the change that gateways receive.
      for await (const changes of batches)
        for (const change of changes) if (await isTold(tenant, change)) return change.seq
      return null
    },

    /** Returns the gateways that enforce all changes up to a sequence number, and those that do not. */
    of: async (tenant: TenantId, seq: number): Promise<Confirmation> => {
      const found: Confirmation = { confirmed: 0, waiting: [], unreachable: [] }
      for (const { id, name, isReachable, isConfirmed } of await confirming(tenant, seq))
        if (isConfirmed) found.confirmed++
        else (isReachable ? found.waiting : found.unreachable).push({ id, name })
      return found
    },
  }
}
export type Confirmations = ReturnType<typeof createConfirmations>
