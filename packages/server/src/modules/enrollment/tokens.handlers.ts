import type { Contract, Output } from '@holdfast/contract'
import type { Database } from '../../db/database.ts'
import { findNames, type Names } from '../../db/names.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { encodeId, idOf } from '../../kernel/ids.ts'
import { versioned } from '../../kernel/version.ts'
import { attemptsOf, type TokenAttempts } from './attempts.queries.ts'
import { selectTokens } from './tokens.queries.ts'
import { type TokenRow, type Tokens, tokenVersion } from './tokens.ts'

const orders = {
  created_at: { column: 'created_at', kind: 'time' },
  expires_at: { column: 'expires_at', kind: 'time' },
  name: { column: 'name', kind: 'text' },
} as const

export function tokenHandlers({
  db,
  pager,
  now,
  tokens,
}: {
  db: Database
  pager: Pager
  now: () => Date
  tokens: Tokens
}) {
  const view = async (row: TokenRow, attempts?: TokenAttempts) => {
    const tenant = row.tenant_id
    const names = await db.inTenant(tenant, (tx) => findNames(tx, tenant, namedBy([row])))
    return viewToken(row, { names, attempts, at: now() })
  }
  return {
    generateToken: async ({ actor, body }) => {
      const { secret, row, installLines } = await tokens.generate(actor, body)
      return { enrollment_token: await view(row), secret, install_lines: installLines }
    },
    listTokens: async ({ actor, query }) => {
      const { tenantId } = actor
      return db.inTenant(tenantId, async (tx) => {
        const { items, next_cursor } = await pager.list(selectTokens(tx, tenantId, query, now()), {
          operation: 'listTokens',
          tenant: tenantId,
          query,
          orders,
          tie: 'token_id',
        })
        const names = await findNames(tx, tenantId, namedBy(items))
        const ids = items.map((row) => row.token_id)
        const attempts = await attemptsOf(tx, tenantId, ids)
        const viewWithNames = (row: TokenRow) =>
          viewToken(row, { names, attempts: attempts.get(row.token_id), at: now() })
        return { items: items.map(viewWithNames), next_cursor }
      })
    },
    getToken: async ({ actor, params }) => {
      const { row, attempts } = await tokens.find(actor.tenantId, idOf('enrollment_token', params.token_id))
      return versioned(tokenVersion(row), await view(row, attempts))
    },
    revokeToken: async ({ actor, params, body, expected }) => {
      const id = idOf('enrollment_token', params.token_id)
      const { row, attempts, changed } = await tokens.revoke(actor, id, { ...body, expected })
      return { enrollment_token: await view(row, attempts), changed }
    },
  } satisfies Partial<Handlers>
}

type Token = Output<Contract['getToken']>
const viewAttempt = (a: TokenAttempts): Token['last_attempt'] => ({
  at: a.last_at.toISOString(),
  outcome: a.outcome,
  reason: a.reason,
  source_ip: a.source_ip,
  platform: a.platform as NonNullable<Token['last_attempt']>['platform'],
})

const namedBy = (rows: readonly TokenRow[]) => ({
  user: rows.map((t) => t.user_id),
  group: rows.flatMap((t) => t.group_ids),
  makers: rows.map((t) => t.created_by),
})

export function tokenStatusOf(
  t: Pick<TokenRow, 'max_uses' | 'uses' | 'revoked_at' | 'expires_at'>,
  at: Date,
): Output<Contract['getToken']>['status'] {
  const isUsedUp = t.max_uses > 0 && t.uses >= t.max_uses
  return t.revoked_at ? 'revoked' : t.expires_at <= at ? 'expired' : isUsedUp ? 'exhausted' : 'active'
}

type Beside = { names: Names; attempts: TokenAttempts | undefined; at: Date }

function viewToken(t: TokenRow, { names, attempts, at }: Beside): Token {
  return {
    token_id: encodeId('enrollment_token', t.token_id),
    tenant_id: encodeId('tenant', t.tenant_id),
    name: t.name,
    kind: t.kind,
    status: tokenStatusOf(t, at),
    hint: t.hint,
    max_uses: t.max_uses,
    uses: t.uses,
    expires_at: t.expires_at.toISOString(),
    user_id: t.user_id && encodeId('user', t.user_id),
    user_name: names.of('user', t.user_id),
    group_ids: t.group_ids.map((id) => encodeId('group', id)),
    group_names: names.ofAll('group', t.group_ids),
    tags: t.tags,
    platforms: t.platforms as Token['platforms'],
    allowed_cidrs: t.allowed_cidrs,
    requires_approval: t.requires_approval,
    ephemeral_seconds: t.ephemeral_seconds,
    max_devices_per_user: t.max_devices_per_user,
    created_by: t.created_by,
    created_by_name: names.ofMaker(t.created_by),
    created_at: t.created_at.toISOString(),
    last_used_at: t.last_used_at?.toISOString() ?? null,
    revoked_at: t.revoked_at?.toISOString() ?? null,
    last_attempt: attempts ? viewAttempt(attempts) : null,
    attempts_refused: attempts?.refused ?? 0,
  }
}
