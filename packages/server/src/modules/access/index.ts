import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Role } from '@holdfast/contract/vocabulary'
import { readToken } from '@holdfast/crypto'
import type { Pager } from '../../db/page.ts'
import type { PresentedToken } from '../../http/authenticate.ts'
import type { Handlers } from '../../http/serve.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Memory } from '../../memory/held.ts'
import { endingKeys, type KeyRow, type KeyStatus, selectKeys } from './api-keys.queries.ts'
import { type ApiKeysDeps, createApiKeys, type NewKey } from './api-keys.ts'
import { createRates } from './rates.ts'
import { createKeyVerifier } from './verify-key.ts'

export type { Rates } from './rates.ts'
export { isRole, mayHandle, permissionsOfRoles } from './roles.ts'

export type AccessDeps = ApiKeysDeps & {
  feed: Memory['feed']
  pager: Pager
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  /** Hears of "last used" times that could not be written yet. */
  onError?: (e: Error) => void
}

export function createAccess(deps: AccessDeps) {
  const { db, pager, now, settings } = deps
  const keys = createApiKeys(deps)
  const verifier = createKeyVerifier({ ...deps, onError: deps.onError ?? (() => {}) })

  return {
    /** What a token says that this deployment minted; undefined for every other text. */
    readToken: (text: string): PresentedToken | undefined => {
      const read = readToken(deps.pepper, text)
      return read && { ...read, tenant: read.tenant as TenantId }
    },
    verifyApiKey: verifier.verifyApiKey,
    rates: createRates(settings),
    /** A key made by the deployment itself; returns its secret. */
    createKeyFor: async (tenant: TenantId, wanted: NewKey): Promise<string> =>
      (await keys.mint(jobSource(tenant, 'bootstrap'), wanted)).secret,
    /** The ends of keys in use; keys without one are not in it. */
    keyExpiries: async (tenant: TenantId) => {
      const rows = await db.inTenant(tenant, (tx) => endingKeys(tx, tenant, now()))
      return rows.map((r) => ({
        type: 'api_key',
        id: encodeId('api_key', r.key_id),
        name: r.name,
        since: r.created_at,
        expiresAt: r.expires_at!,
      }))
    },
    /** Writes what is still in memory; at stop. */
    stop: (): Promise<void> => verifier.flushActivity(),

    handlers: {
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
        const { row, changed } = await keys.revoke(actor, params.key_id, body.reason)
        return { api_key: view(row, now()), changed }
      },
    } satisfies Partial<Handlers>,
  }
}
export type Access = ReturnType<typeof createAccess>

const statusOf = (key: KeyRow, at: Date): KeyStatus => {
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
  user_id: key.owner_user_id && encodeId('user', key.owner_user_id),
  created_by: key.created_by,
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null,
})
