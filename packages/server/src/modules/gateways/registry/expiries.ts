import type { TenantId } from '../../../kernel/actor.ts'
import type { ExpiringObject } from '../../../kernel/expiring-object.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import { endingSecrets } from './secrets.queries.ts'

/** Expiries of replaced secrets whose gateways have not used the new one yet. They lose access at the end. */
export const createSecretExpiries =
  ({ db, now }: Pick<GatewaysDeps, 'db' | 'now'>) =>
  async (tenant: TenantId): Promise<ExpiringObject[]> => {
    const rows = await db.inTenant(tenant, (tx) => endingSecrets(tx, tenant, now()))
    return rows.map(({ gateway_id, name, replaced_at, valid_until }) => ({
      type: 'gateway_secret',
      id: encodeId('gateway', gateway_id),
      name,
      since: replaced_at,
      expiresAt: valid_until,
      renewal: 'by_hand',
    }))
  }
