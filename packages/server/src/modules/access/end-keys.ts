import { encodeId } from '../../kernel/ids.ts'
import type { EndOfUsers } from '../../memory/end-of-users.ts'
import type { Audit } from '../audit/index.ts'
import { revokeKeysOf } from './api-keys.queries.ts'

/** Revokes the API keys of this tenant that belong to users. */
export const createEndKeys =
  ({ audit, now }: { audit: Audit; now: () => Date }): EndOfUsers =>
  async (tx, source, users, reason) => {
    const revoked = await revokeKeysOf(
      tx,
      source.tenantId,
      users.map((u) => u.user_id),
      now(),
    )
    await audit.recordAll(
      tx,
      revoked.map(({ key_id, name, owner_user_id }) => {
        const id = encodeId('api_key', key_id)
        return {
          source,
          kind: 'api_key.revoked',
          fields: { key_id: id, user_id: encodeId('user', owner_user_id) },
          more: { target: { type: 'api_key', id, name }, details: { reason } },
        } as const
      }),
    )
    return { count: revoked.length, changes: revoked.map((k) => ({ kind: 'api_key', subject: k.key_id })) }
  }
