import type { Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Change } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { EndOfUsers } from '../offboarding/index.ts'
import { revokeKeysOf } from './api-keys.queries.ts'

type RevokedKey = { key_id: string; name: string; owner_user_id: string | null }

/** Writes the revocation of these keys to the audit log. Returns the changes, which the caller must record. */
export async function recordRevokedKeys(
  audit: Audit,
  tx: Tx,
  source: Source,
  revoked: readonly RevokedKey[],
  reason: string | undefined,
): Promise<Change[]> {
  await audit.recordAll(
    tx,
    revoked.map(({ key_id, name, owner_user_id: owner }) => {
      const id = encodeId('api_key', key_id)
      return {
        source,
        kind: 'api_key.revoked',
        fields: { key_id: id, ...(owner !== null && { user_id: encodeId('user', owner) }) },
        more: { target: { type: 'api_key', id, name }, ...(reason !== undefined && { details: { reason } }) },
      } as const
    }),
  )
  return revoked.map(({ key_id }) => ({ kind: 'api_key', subject: key_id }))
}

/** Revokes the API keys of this tenant that belong to users. */
export const createEndKeys =
  ({ audit, now }: { audit: Audit; now: () => Date }): EndOfUsers =>
  async (tx, source, users, reason) => {
    const ids = users.map((u) => u.user_id)
    const revoked = await revokeKeysOf(tx, source.tenantId, ids, now())
    const changes = await recordRevokedKeys(audit, tx, source, revoked, reason)
    return { count: changes.length, changes }
  }
