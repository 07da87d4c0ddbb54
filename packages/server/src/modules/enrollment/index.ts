import type { Contract, Output } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Database } from '../../db/database.ts'
import { orderOf, type Pager } from '../../db/page.ts'
import type { Handlers, RequestFacts } from '../../http/serve.ts'
import type { Actor, Principal, TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Trust } from '../trust/index.ts'
import { createBatches } from './batch.ts'
import { createIssuer } from './credential.ts'
import { createEnroll, type Enrolled } from './enroll.ts'
import { createKeyReader, type Presented } from './proven-key.ts'
import { createRenew } from './renew.ts'
import { pruneTokens, selectTokens } from './tokens.queries.ts'
import { createTokens, type TokenRow } from './tokens.ts'

export function createEnrollment(deps: {
  db: Database
  audit: Audit
  changes: Changes
  pager: Pager
  trust: Trust
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  pepper: Uint8Array
  publicUrl: string
  now: () => Date
}) {
  const { db, pager, trust, now } = deps
  const tokens = createTokens(deps)
  const common = { ...deps, issue: createIssuer(deps), readKey: createKeyReader(deps) }
  const enroll = createEnroll({ ...common, join: createBatches(deps).join })
  const renew = createRenew(common)
  const view = (row: TokenRow) => viewToken(row, now())

  const answer = async (tenant: TenantId, e: Enrolled): Promise<Output<Contract['enroll']>> => ({
    device_id: encodeId('device', e.deviceId),
    tenant_id: encodeId('tenant', tenant),
    user_id: e.userId && encodeId('user', e.userId),
    status: e.status,
    credential: e.credential,
    token_type: 'Bearer',
    binding: e.jkt ? 'dpop' : 'none',
    expires_at: e.expiresAt.toISOString(),
    renew_after: e.renewAfter.toISOString(),
    trust_anchor_version: await trust.versionOf(tenant),
  })

  const handlers = {
    generateToken: async ({ actor, body }) => {
      const { token, row } = await tokens.generate(actor, body)
      return { token, enrollment_token: view(row) }
    },
    listTokens: async ({ actor, query }) => {
      const { limit, cursor, sort = '-created_at', ...filter } = query
      const order = orderOf(
        sort,
        { created_at: { column: 'created_at', kind: 'time' }, expires_at: { column: 'expires_at', kind: 'time' } },
        'token_id',
      )
      const found = await db.inTenant(actor.tenantId, (tx) =>
        pager.page(
          selectTokens(tx, actor.tenantId, filter, now()),
          { ...(limit && { limit }), ...(cursor && { cursor }) },
          order,
          `listTokens|${actor.tenantId}|${JSON.stringify(filter)}`,
        ),
      )
      return { items: found.items.map(view), next_cursor: found.next_cursor }
    },
    getToken: async ({ actor, params }) => view(await tokens.find(actor.tenantId, params.token_id)),
    revokeToken: async ({ actor, params, body }) => {
      const { row, changed } = await tokens.revoke(actor, params.token_id, body.reason)
      return { enrollment_token: view(row), changed }
    },
    enroll: async ({ actor, body, request }) => {
      const { enrollment_token: _, ...input } = body
      return answer(actor.tenantId, await enroll(actor, presentedIn(request, actor, 'dpop'), input))
    },
    renewCredential: async ({ actor, body, request }) => {
      return answer(actor.tenantId, await renew(actor, presentedIn(request, actor, 'dpop-new-key'), body))
    },
  } satisfies Partial<Handlers>

  return {
    handlers,
    verifyEnrollmentToken: tokens.verify,
    prunes: [pruneTokens],
    /** The thumbprint of the key that a request with a token proves; null where it brings no proof. */
    provenKeyOf: (presented: Omit<Presented, 'sourceIp'>): string | null =>
      common.readKey(presented, undefined, '')?.jkt ?? null,
  }
}

const presentedIn = (
  { headers, method, path, sourceIp }: RequestFacts,
  { principal }: Actor<Extract<Principal, { kind: 'device' | 'enrollment_token' }>>,
  proof: 'dpop' | 'dpop-new-key',
): Presented => ({ token: principal.presented.token, proof: headers[proof], method, path, sourceIp })

function viewToken(t: TokenRow, at: Date): Output<Contract['getToken']> {
  const spent = t.max_uses > 0 && t.uses >= t.max_uses
  return {
    token_id: encodeId('enrollment_token', t.token_id),
    tenant_id: encodeId('tenant', t.tenant_id),
    name: t.name,
    kind: t.kind,
    status: t.revoked_at ? 'revoked' : t.expires_at <= at ? 'expired' : spent ? 'exhausted' : 'active',
    hint: t.hint,
    max_uses: t.max_uses,
    uses: t.uses,
    expires_at: t.expires_at.toISOString(),
    user_id: t.user_id && encodeId('user', t.user_id),
    group_ids: t.group_ids.map((id) => encodeId('group', id)),
    tags: t.tags,
    platforms: t.platforms as Output<Contract['getToken']>['platforms'],
    allowed_cidrs: t.allowed_cidrs,
    requires_approval: t.requires_approval,
    ephemeral_seconds: t.ephemeral_seconds,
    max_devices_per_user: t.max_devices_per_user,
    created_by: t.created_by,
    created_at: t.created_at.toISOString(),
    last_used_at: t.last_used_at?.toISOString() ?? null,
    revoked_at: t.revoked_at?.toISOString() ?? null,
  }
}
