import { createHash } from 'node:crypto'
import { mintToken, seal, unseal } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { Caller } from '../../../kernel/actor.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import type { FederationDeps } from '../deps.ts'
import { sidOf } from '../protocols/oidc/claims.ts'
import type { Oidc } from '../protocols/oidc/oidc.ts'
import { findProvider, selectOffered } from '../providers/providers.queries.ts'
import type { Providers } from '../providers/providers.ts'
import { type Offered, pathTo, plainTenant, redirectUriOf } from '../providers/sign-in-paths.ts'
import { RefusedSignIn } from './account-resolution.ts'
import { type OpenedSession, type SignInOpening, type WantedSignIn, waitsForMs } from './opening.ts'
import { type ReturnReason, strangerAt, whyNoRequest } from './refused-returns.ts'
import * as queries from './sign-in.queries.ts'

const mostOffered = 50

/** Values that the browser brings when it comes back. */
type Return = { providerId: string | undefined; answer: URLSearchParams; browser: string | undefined }

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const sealContext = (stateDigest: Buffer) => `sign_in_requests/${stateDigest.toString('base64url')}/verifier_jwe`

/**
 * Sign-in of administrators by OpenID Connect: one browser, one request, one answer. Every failure is the same 401, and
 * opens no other way to sign in. The audit event has the reason.
 */
export function createSignIn(
  deps: Pick<
    FederationDeps,
    'db' | 'feed' | 'changes' | 'now' | 'readToken' | 'peppers' | 'kek' | 'publicUrl' | 'tenancy'
  > & {
    oidc: Pick<Oidc, 'begin' | 'finish'>
    providers: Pick<Providers, 'clientOf'>
    opening: SignInOpening
  },
) {
  const { db, now, readToken, peppers, kek, tenancy, oidc, providers, opening } = deps
  // Cached: anybody may ask for the page that shows them.
  const heldOffered = tenantCache<readonly Offered[]>(deps, {
    kinds: ['identity_provider'],
    load: (tenant) => db.inTenant(tenant, (tx) => selectOffered(tx, tenant, mostOffered)),
  })
  async function offered(tenantName: string): Promise<readonly Offered[]> {
    const tenant = await tenancy.tenantByName(tenantName)
    return tenant === undefined ? [] : await heldOffered.get(tenant)
  }
  const presented = (text: string | undefined, prefix: 'hfl' | 'hfr') => {
    const token = text === undefined ? undefined : readToken(text)
    return token?.prefix === prefix ? token : undefined
  }
  const redirectUri = (providerId: string) => redirectUriOf(deps.publicUrl, providerId)

  return {
    /**
     * Returns the providers on the sign-in page of a tenant, and whether they are the only way to sign in. An unknown
     * tenant offers nothing.
     */
    waysIn: async (tenantName: string, caller: Caller) => {
      if (tenantName !== plainTenant) await opening.takeStep(caller)
      const tenant = await tenancy.tenantByName(tenantName)
      if (tenant === undefined) return { offered: [], isOnlyWay: false }
      const { enforce_sso: isOnlyWay } = (await tenancy.settings(tenant)).login
      const offered = await heldOffered.get(tenant)
      return { offered: offered.map((o) => ({ path: pathTo(o, tenantName), name: o.name })), isOnlyWay }
    },
    /** Returns the providers to choose from. The tenant name may be invented, so the rate limit applies. */
    offeredOf: async (tenantName: string, caller: Caller): Promise<readonly Offered[]> => {
      await opening.takeStep(caller)
      return offered(tenantName)
    },

    /** Sends a browser to a provider. Throws `unauthorized` for a provider that cannot be used, and `rate_limited`. */
    begin: async (wanted: WantedSignIn, caller: Caller): Promise<{ url: string; browser: string }> => {
      const { tenant, by, provider } = await opening.wanted('oidc', wanted, caller)
      const { url, state, nonce, verifier } = await opening.refusing(by, provider, async () =>
        oidc.begin(await providers.clientOf(provider), {
          redirectUri: redirectUri(provider.provider_id),
          // Names the tenant, also for a browser that has lost its cookie.
          state: mintToken(peppers, 'hfr', tenant).token,
        }),
      )
      const browser = opening.browserOf(tenant, wanted.browser)
      const state_digest = digestOf(state)
      const verifier_jwe = await seal(kek, sealContext(state_digest), Buffer.from(verifier))
      await db.inTenant(tenant, (tx) =>
        queries.insertSignInRequest(tx, {
          tenant_id: tenant,
          state_digest,
          provider_id: provider.provider_id,
          browser_digest: browser.digest,
          nonce,
          verifier_jwe,
          next_path: wanted.next ?? null,
          expires_at: new Date(now().getTime() + waitsForMs),
        }),
      )
      return { url, browser: browser.token }
    },

    /** Handles the browser's return. Throws `unauthorized` for everything that is not this browser's one answer. */
    finish: async ({ providerId, answer, browser }: Return, caller: Caller): Promise<OpenedSession> => {
      const state = answer.get('state') ?? undefined
      const shown = presented(browser, 'hfl')
      const issued = presented(state, 'hfr')
      const tenant = issued?.tenant ?? shown?.tenant
      await opening.takeStep(caller, tenant)
      const refuse = (reason: ReturnReason) => opening.refuseReturn({ way: 'oidc', reason, tenant, providerId }, caller)
      if (providerId === undefined) return refuse('unknown_provider')
      if (state === undefined) return refuse('no_state')
      if (tenant === undefined) return refuse('unknown_state')
      const by = strangerAt(tenant, caller)
      const at = now()
      const key = { state_digest: digestOf(state), provider_id: providerId }
      const { request, found, provider } = await db.inTenant(tenant, async (tx) => {
        const request =
          shown && (await queries.takeSignInRequest(tx, tenant, { ...key, browser_digest: shown.digest }, at))
        const found = request ?? (await queries.findSignInRequest(tx, tenant, key.state_digest))
        return { request, found, provider: await findProvider(tx, tenant, providerId) }
      })
      if (!provider) return refuse('unknown_provider')
      if (!request) return refuse(whyNoRequest(found, { providerId, isIssued: !!issued, hasCookie: !!shown, at }))
      const verifier = (await unseal(kek, sealContext(request.state_digest), request.verifier_jwe)).toString()
      const known = { redirectUri: redirectUri(providerId), state, nonce: request.nonce, verifier }
      return opening.refusing(by, provider, async () => {
        const proven = await oidc.finish(await providers.clientOf(provider), answer, known)
        const sid = sidOf(proven.claims)
        const spend = async (tx: Tx) => {
          if (await queries.wasSignedOut(tx, tenant, providerId, { ...proven, sid }))
            throw new RefusedSignIn('signed_out')
        }
        return opening.open(by, provider, proven, { next: request.next_path, sid, spend })
      })
    },
  }
}
export type SignIn = ReturnType<typeof createSignIn>
