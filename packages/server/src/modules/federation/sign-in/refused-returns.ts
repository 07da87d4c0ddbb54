import type { Source, TenantId } from '../../../kernel/actor.ts'
import { unauthorized } from '../../../kernel/app-error.ts'
import { sourceBlock } from '../../../kernel/cidr.ts'
import { createRepeatCounter } from '../../../kernel/repeat-counter.ts'
import type { FederationDeps } from '../deps.ts'
import { findProvider } from '../providers/providers.queries.ts'
import { plainTenant } from '../providers/sign-in-paths.ts'
import { partyOf } from './account-resolution.ts'

/** Reasons for refusing a browser that asks for a provider or comes back from one. */
const returnReasons = [
  'unknown_tenant',
  'unknown_provider',
  'no_state',
  'unknown_state',
  'no_cookie',
  'other_browser',
  'other_provider',
  'request_expired',
  'request_spent',
  'no_response',
] as const
export type ReturnReason = (typeof returnReasons)[number]

/** Protocol of a sign-in. */
export type SignInWay = 'oidc' | 'saml'
type Place = { tenant: TenantId | undefined; providerId: string | undefined }
type RefusedReturn = Source & { way: SignInWay; providerId: string | undefined; reason: ReturnReason; block: string }

const mostOfTenant = 1000

export type Comer = Pick<Source, 'userAgent' | 'requestId' | 'origin'> & { sourceIp: string }
export const strangerAt = (tenantId: TenantId, { sourceIp, userAgent, requestId, origin }: Comer): Source => ({
  sourceIp,
  userAgent,
  requestId,
  origin,
  tenantId,
  claim: null,
  type: 'address',
  id: null,
  name: sourceIp,
})

/**
 * Records refused requests that anybody can send to the sign-in pages. Per address and reason the first in a minute is
 * recorded at once, the others as a count.
 */
export function createRefusedReturns({
  db,
  audit,
  tenancy,
  onError,
}: Pick<FederationDeps, 'db' | 'audit' | 'tenancy' | 'onError'>) {
  const refused = createRepeatCounter<RefusedReturn>({
    onError,
    mostOfTenant,
    keyOf: ({ tenantId, way, providerId, reason, block }) => `${tenantId} ${way} ${providerId} ${reason} ${block}`,
    overflow: (item) => ({ ...item, providerId: undefined, block: '', name: null, sourceIp: null }),
    record: async ({ way, providerId, reason, block: _, ...by }, count) => {
      const provider = providerId && (await db.inTenant(by.tenantId, (tx) => findProvider(tx, by.tenantId, providerId)))
      const fields = { username: '', failure_reason: `${provider ? provider.kind : way}:${reason}` }
      const target = provider ? { target: partyOf(provider) } : {}
      await audit.note(by, 'login.failed', fields, { outcome: 'refused', details: { refused: count }, ...target })
    },
  })
  const throttled = createRepeatCounter<Source & { block: string }>({
    onError,
    mostOfTenant,
    keyOf: ({ tenantId, block }) => `${tenantId} ${block}`,
    overflow: (item) => ({ ...item, block: '', name: null, sourceIp: null }),
    record: ({ block: _, ...by }, count) =>
      audit.note(by, 'auth.throttled', { credential: 'identity_provider', refused: count }, { outcome: 'refused' }),
  })
  /**
   * Returns the tenant for the audit event, else the default tenant. A token may outlive its tenant, and a browser may
   * bring none.
   */
  const tenantOf = async (tenant: TenantId | undefined) =>
    tenant !== undefined && (await tenancy.exists(tenant)) ? tenant : tenancy.tenantByName(plainTenant)

  return {
    /** Records the refusal and throws `unauthorized`. */
    refuse: async (
      { way, reason, tenant, providerId }: Place & { way: SignInWay; reason: ReturnReason },
      caller: Comer,
    ): Promise<never> => {
      const tenantId = await tenantOf(tenant)
      const block = sourceBlock(caller.sourceIp)
      if (tenantId !== undefined)
        await refused.count({ ...strangerAt(tenantId, caller), way, reason, providerId, block })
      return unauthorized()
    },
    throttle: async (tenant: TenantId | undefined, caller: Comer): Promise<void> => {
      const tenantId = await tenantOf(tenant)
      if (tenantId === undefined) return
      await throttled.count({ ...strangerAt(tenantId, caller), block: sourceBlock(caller.sourceIp) })
    },
    flush: async (): Promise<void> => {
      await refused.flush()
      await throttled.flush()
    },
  }
}
type FoundRequest = { provider_id: string; browser_digest: Buffer | null; expires_at: Date }
/**
 * Returns why a browser's request could not be taken. An expired request is deleted some time later, and then looks
 * like one that was used.
 */
export function whyNoRequest(
  found: FoundRequest | undefined,
  { providerId, isIssued, hasCookie, at }: { providerId: string; isIssued: boolean; hasCookie: boolean; at: Date },
): ReturnReason {
  if (!found) return isIssued ? 'request_spent' : 'unknown_state'
  if (found.provider_id !== providerId) return 'other_provider'
  if (found.expires_at <= at) return 'request_expired'
  return hasCookie ? 'other_browser' : 'no_cookie'
}
