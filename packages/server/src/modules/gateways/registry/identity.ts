import type { Tx } from '../../../db/database.ts'
import { mapUniqueViolation } from '../../../db/unique-violation.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { failField, unauthorized } from '../../../kernel/app-error.ts'
import { differences } from '../../../kernel/differences.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import { type GatewayRow, lockGateway } from './gateways.queries.ts'
import * as queries from './identity.queries.ts'
import { holdKey, keyTaken, requireOwnKey } from './tunnel-keys.ts'

/** Values that a gateway announces. Absent ones stay unchanged. */
type Announced = {
  public_key?: string
  listen_port?: number
  endpoints?: GatewayRow['endpoints']
  version?: string
  capabilities?: string[]
}
type Done = { row: GatewayRow; changed: boolean }

const namedBy = (g: GatewayRow) => ({ gateway_id: encodeId('gateway', g.gateway_id) })
const targetOf = (g: GatewayRow) => ({ type: 'gateway', id: encodeId('gateway', g.gateway_id), name: g.name })
const refuseTakenKeys = <T>(work: () => Promise<T>): Promise<T> =>
  mapUniqueViolation(
    'public_key',
    'gateway_key_is_used_by_one_gateway',
    () => mapUniqueViolation('public_key', 'gateway_key_is_proposed_by_one_gateway', work, keyTaken),
    keyTaken,
  )

/**
 * Identities that gateways announce. In a pool that requires approval a new key waits for an administrator. Until then
 * devices receive the current key. A gateway without one receives no peers and is offered to no device.
 */
export function createIdentities({ db, audit, changes, now }: Pick<GatewaysDeps, 'db' | 'audit' | 'changes' | 'now'>) {
  const touched = (tx: Tx, tenant: TenantId, { gateway_id }: GatewayRow) =>
    changes.record(tx, tenant, [{ kind: 'gateway', subject: gateway_id }])

  return {
    announce: (actor: Actor<'gateway'>, { public_key: key, ...facts }: Announced): Promise<Done> => {
      const { tenantId: tenant, principal } = actor
      return refuseTakenKeys(() =>
        db.inTenant(tenant, async (tx) => {
          await holdKey(tx, tenant, key)
          // Locked until commit, so that the pool's current setting decides about the key.
          const pool = (await queries.sharePool(tx, tenant, principal.poolId)) ?? unauthorized()
          const before = (await lockGateway(tx, tenant, principal.id)) ?? unauthorized()
          const next = { ...facts, ...keysAfter(before, key, pool.requires_approval) }
          const changed = differences(before, next)
          if (Object.keys(changed).length === 0) return { row: before, changed: false }
          if (key !== undefined && ('public_key' in changed || 'proposed_key' in changed))
            await requireOwnKey(tx, tenant, { gatewayId: principal.id, key, at: now() })
          const row = await queries.setIdentity(tx, tenant, principal.id, next, now())
          await audit.record(tx, actor, 'gateway.identified', namedBy(row), { target: targetOf(row), changes: changed })
          await touched(tx, tenant, row)
          return { row, changed: true }
        }),
      )
    },

    /** Takes the key, so that the approved key is the one that the administrator saw. */
    approve: (actor: Actor, gatewayId: string, key: string): Promise<Done> => {
      const tenant = actor.tenantId
      return refuseTakenKeys(() =>
        db.inTenant(tenant, async (tx) => {
          await holdKey(tx, tenant, key)
          const before = (await lockGateway(tx, tenant, gatewayId)) ?? missing('gateway')
          if (before.proposed_key === key) await requireOwnKey(tx, tenant, { gatewayId, key, at: now() })
          const row = await queries.approveKey(tx, tenant, gatewayId, key, now())
          if (!row) {
            if (before.public_key === key) return { row: before, changed: false }
            return failField('public_key', 'differs from the key that the gateway sent: check the key on the gateway')
          }
          const { public_key } = before
          const changed = { changes: { public_key: [public_key, key] as const } }
          await audit.record(tx, actor, 'gateway.approved', namedBy(row), { target: targetOf(row), ...changed })
          await touched(tx, tenant, row)
          return { row, changed: true }
        }),
      )
    },
  }
}
export type Identities = ReturnType<typeof createIdentities>

/** Announcing the current key withdraws a proposed one. */
function keysAfter(before: GatewayRow, key: string | undefined, requiresApproval: boolean) {
  if (key === undefined) return {}
  const waits = requiresApproval && key !== before.public_key
  return waits ? { proposed_key: key } : { public_key: key, proposed_key: null }
}
