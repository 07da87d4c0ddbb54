import type { Role } from '@holdfast/contract/vocabulary'
import type { Database } from '../../db/database.ts'
import { findNames, type Names } from '../../db/names.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { parseAgo } from '../../kernel/date-time.ts'
import { encodeId, idOf } from '../../kernel/ids.ts'
import { type ApiKeyRow, type KeyStatus, selectKeys } from './api-keys.queries.ts'
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
}) => {
  const show = async (row: ApiKeyRow) => {
    const tenant = row.tenant_id
    return view(row, await db.inTenant(tenant, (tx) => findNames(tx, tenant, namedBy([row]))), now())
  }
  return {
    createApiKey: async ({ actor, body }) => {
      const { row, secret } = await keys.create(actor, body)
      return { api_key: await show(row), secret }
    },
    listApiKeys: ({ actor, query }) => {
      const at = now()
      const { status, role, unused_for } = query
      const filter = {
        ...(status && { status }),
        ...(role && { role }),
        ...(unused_for !== undefined && { unusedSince: parseAgo('unused_for', unused_for, at) }),
      }
      return db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectKeys(tx, actor.tenantId, filter, at), {
          operation: 'listApiKeys',
          tenant: actor.tenantId,
          query,
          orders,
          tie: query.sort?.endsWith('last_used_at') ? 'activity.key_id' : 'api_keys.key_id',
        })
        const names = await findNames(tx, actor.tenantId, namedBy(found.items))
        return { items: found.items.map((row) => view(row, names, at)), next_cursor: found.next_cursor }
      })
    },
    revokeApiKey: async ({ actor, params, body }) => {
      const { row, changed } = await keys.revoke(actor, idOf('api_key', params.key_id), body.reason)
      return { api_key: await show(row), changed }
    },
    revokeApiKeysOfUser: async ({ actor, body: { user_id, reason, dry_run: dryRun = false } }) => {
      const { keys, tokens } = await keysOfUser.endAll(actor, idOf('user', user_id), { reason, dryRun })
      return {
        changed: !dryRun && keys.length + tokens.length > 0,
        key_ids: keys.map((id) => encodeId('api_key', id)),
        token_ids: tokens.map((id) => encodeId('enrollment_token', id)),
      }
    },
  } satisfies Partial<Handlers>
}

const orders = {
  created_at: { column: 'api_keys.created_at', kind: 'time' },
  last_used_at: { column: 'activity.last_used_key', kind: 'time' },
} as const

export const keyStatusOf = (key: Pick<ApiKeyRow, 'revoked_at' | 'expires_at'>, at: Date): KeyStatus => {
  if (key.revoked_at) return 'revoked'
  return key.expires_at && key.expires_at <= at ? 'expired' : 'active'
}
/** Null for the key of a platform administrator from another tenant: its owner is not a user of this tenant. */
const ownerOf = (key: ApiKeyRow) => (key.owner_tenant_id === key.tenant_id ? key.owner_user_id : null)
const namedBy = (keys: readonly ApiKeyRow[]) => ({ user: keys.map(ownerOf), makers: keys.map((k) => k.created_by) })

const view = (key: ApiKeyRow, names: Names, at: Date) => ({
  key_id: encodeId('api_key', key.key_id),
  tenant_id: encodeId('tenant', key.tenant_id),
  name: key.name,
  role: key.role as Role,
  status: keyStatusOf(key, at),
  hint: key.hint,
  allowed_cidrs: key.allowed_cidrs,
  directory: key.directory,
  user_id: key.owner_user_id && encodeId('user', key.owner_user_id),
  user_name: names.of('user', ownerOf(key)),
  created_by: key.created_by,
  created_by_name: names.ofMaker(key.created_by),
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null,
})
