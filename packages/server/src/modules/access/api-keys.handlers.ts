import type { Role } from '@holdfast/contract/vocabulary'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { encodeId, idOf } from '../../kernel/ids.ts'
import { type KeyRow, type KeyStatus, selectKeys } from './api-keys.queries.ts'
import type { ApiKeys } from './api-keys.ts'
import type { KeysOfUser } from './keys-of-user.ts'

export const apiKeyHandlers = ({
  db,
  pager,
  now,
  keys,
  keysOfUser,
}: {
  db: Database
  pager: Pager
  now: () => Date
  keys: ApiKeys
  keysOfUser: KeysOfUser
}) =>
  ({
    createApiKey: async ({ actor, body }) => {
      const { row, secret } = await keys.create(actor, body)
      return { api_key: view(row, now()), secret }
    },
    listApiKeys: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectKeys(tx, actor.tenantId, query.status, now()), {
          operation: 'listApiKeys',
          tenant: actor.tenantId,
          query,
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          otherwise: '-created_at',
          tie: 'key_id',
        })
        return { items: found.items.map((row) => view(row, now())), next_cursor: found.next_cursor }
      }),
    revokeApiKey: async ({ actor, params, body }) => {
      const { row, changed } = await keys.revoke(actor, idOf('api_key', params.key_id), body.reason)
      return { api_key: view(row, now()), changed }
    },
    revokeApiKeysOfUser: async ({ actor, body: { user_id, reason, dry_run: dryRun = false } }) => {
      const { keys, tokens } = await keysOfUser.endAll(actor, idOf('user', user_id), { reason, dryRun })
      return {
        changed: !dryRun && keys.length + tokens.length > 0,
        key_ids: keys.map((id) => encodeId('api_key', id)),
        token_ids: tokens.map((id) => encodeId('enrollment_token', id)),
      }
    },
  }) satisfies Partial<Handlers>

export const statusOf = (key: Pick<KeyRow, 'revoked_at' | 'expires_at'>, at: Date): KeyStatus => {
  if (key.revoked_at) return 'revoked'
  return key.expires_at && key.expires_at <= at ? 'expired' : 'active'
}
const view = (key: KeyRow, at: Date) => ({
  key_id: encodeId('api_key', key.key_id),
  tenant_id: encodeId('tenant', key.tenant_id),
  name: key.name,
  role: key.role as Role,
  status: statusOf(key, at),
  hint: key.hint,
  allowed_cidrs: key.allowed_cidrs,
  directory: key.directory,
  user_id: key.owner_user_id && encodeId('user', key.owner_user_id),
  created_by: key.created_by,
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null,
})
