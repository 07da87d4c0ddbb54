import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { joining } from '../../devices/index.ts'
import { isKeyOfAnother } from './identity.queries.ts'

export const keyTaken = 'is the key of another gateway or of a device: generate a new key'

/**
 * Locks the key until commit, so that no device and no other gateway of the tenant can take it; enrollment and renewal
 * take the same lock. Taken before the locks of pools and gateways.
 */
export const holdKey = (tx: Tx, tenant: TenantId, key: string | null | undefined): Promise<void> =>
  joining.holdTunnelKeys(tx, tenant, key ? [key] : [])

/**
 * Refuses a key that a device of the tenant has or still keeps beside a newer one, or that another gateway has or has
 * proposed.
 */
export async function requireOwnKey(
  tx: Tx,
  tenant: TenantId,
  { gatewayId, key, at }: { gatewayId: string; key: string; at: Date },
): Promise<void> {
  const ofDevices = [
    await joining.takenWireguardKeys(tx, tenant, [key]),
    await joining.givenUpKeys(tx, tenant, [key], at),
  ]
  if (ofDevices.some((keys) => keys.has(key)) || (await isKeyOfAnother(tx, tenant, gatewayId, key)))
    failField('public_key', keyTaken)
}
