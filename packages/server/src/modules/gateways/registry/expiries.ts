import { inBatches } from '../../../kernel/batches.ts'
import type { ExpirySource } from '../../../kernel/expiring-object.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import { endingSecrets } from './secrets.queries.ts'

/** Gateways of a batch. */
const batch = 5000

/** Expiries of replaced secrets whose gateways have not used the new one yet. They lose access at the end. */
export const createSecretExpiries = ({ db, now }: Pick<GatewaysDeps, 'db' | 'now'>): ExpirySource =>
  async function* (tenant) {
    type Row = Awaited<ReturnType<typeof endingSecrets>>[number]
    const at = now()
    const batches = inBatches<Row>(batch, (after, size) =>
      db.inTenant(tenant, (tx) => endingSecrets(tx, tenant, at, after?.gateway_id, size)),
    )
    for await (const rows of batches)
      yield rows.map(({ gateway_id, name, replaced_at, valid_until }) => ({
        type: 'gateway_secret',
        id: encodeId('gateway', gateway_id),
        name,
        since: replaced_at,
        expiresAt: valid_until,
        renewal: 'by_hand',
      }))
  }
