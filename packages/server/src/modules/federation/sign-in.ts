import { createHash } from 'node:crypto'
import { seal, unseal } from '@holdfast/crypto'
import type { Tx } from '../../db/database.ts'
import type { Caller } from '../../kernel/actor.ts'
import { unauthorized } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import { held } from '../../memory/held.ts'
import type { FederationDeps } from './deps.ts'
import { wasSignedOut } from './logout.queries.ts'
import { sidOf } from './oidc/claims.ts'
import type { Oidc } from './oidc/oidc.ts'
import { type Opening, type SignedIn, type Wanted, waitsForMs } from './opening.ts'
import { findProvider } from './providers.queries.ts'
import type { Providers } from './providers.ts'
import { Refused } from './recognise.ts'
import * as queries from './sign-in.queries.ts'
import { type Offered, pathTo, plainTenant } from './ways.ts'

const mostOffered = 50

/** What the browser showed when it came back. */
type Return = { providerId: string; answer: URLSearchParams; browser: string | undefined }

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const sealContext = (stateDigest: Buffer) => `sign_in_requests/${stateDigest.toString('base64url')}/verifier_jwe`

/**
 * Administrators sign in with an identity provider: one browser, one request, one answer. Whatever fails is the same
 * 401, and no other way in opens because of it; why is in the audit event.
 */
export function createSignIn(
  deps: Pick<FederationDeps, 'db' | 'feed' | 'changes' | 'now' | 'readToken' | 'kek' | 'publicUrl' | 'tenancy'> & {
    oidc: Pick<Oidc, 'begin' | 'finish'>
    providers: Pick<Providers, 'clientOf'>
    opening: Opening
  },
) {
  const { db, now, readToken, kek, tenancy, oidc, providers, opening } = deps
  // Anybody may ask for the page that shows them.
  const heldOffered = held<readonly Offered[]>(deps, {
    kinds: ['identity_provider'],
    load: (tenant) => db.inTenant(tenant, (tx) => queries.selectOffered(tx, tenant, mostOffered)),
  })
  async function offered(tenantName: string): Promise<readonly Offered[]> {
    const tenant = await tenancy.tenantByName(tenantName)
    return tenant === undefined ? [] : await heldOffered.get(tenant)
  }
  const redirectUri = (providerId: string) => redirectUriOf(deps.publicUrl, providerId)

  return {
    /** What the sign-in page of a tenant offers, and whether that is all. A tenant that is not there offers nothing. */
    waysIn: async (tenantName: string, caller: Caller) => {
      if (tenantName !== plainTenant) opening.takeStep(caller)
      const tenant = await tenancy.tenantByName(tenantName)
      if (tenant === undefined) return { offered: [], isOnlyWay: false }
      const { enforce_sso: isOnlyWay } = (await tenancy.settings(tenant)).login
      const offered = await heldOffered.get(tenant)
      return { offered: offered.map((o) => ({ path: pathTo(o, tenantName), name: o.name })), isOnlyWay }
    },
    /** Those that can be chosen, for a name that anybody may make up. */
    offeredOf: (tenantName: string, caller: Caller): Promise<readonly Offered[]> => {
      opening.takeStep(caller)
      return offered(tenantName)
    },

    /**
     * Sends a browser to a provider. Throws `unauthorized` for whatever can't be signed in with, and `rate_limited`.
     */
    begin: async (wanted: Wanted, caller: Caller): Promise<{ url: string; browser: string }> => {
      const { tenant, by, provider } = await opening.wanted(wanted, caller)
      const { url, state, nonce, verifier } = await opening.refusing(by, provider, async () =>
        oidc.begin(await providers.clientOf(provider), { redirectUri: redirectUri(provider.provider_id) }),
      )
      const browser = opening.browserOf(tenant, wanted.browser)
      const state_digest = digestOf(state)
      const verifier_jwe = await seal(kek, sealContext(state_digest), Buffer.from(verifier))
      await db.inTenant(tenant, (tx) =>
        queries.insertRequest(tx, {
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

    /** The browser is back. Throws `unauthorized` for everything that is not this browser's one answer. */
    finish: async ({ providerId, answer, browser }: Return, caller: Caller): Promise<SignedIn> => {
      const state = answer.get('state')
      const shown = browser === undefined ? undefined : readToken(browser)
      if (state === null || shown?.prefix !== 'hfl') return unauthorized()
      opening.takeStep(caller)
      const tenant = shown.tenant
      const by = opening.strangerAt(tenant, caller)
      const key = { state_digest: digestOf(state), provider_id: providerId, browser_digest: shown.digest }
      const { request, provider } = await db.inTenant(tenant, async (tx) => ({
        request: await queries.takeRequest(tx, tenant, key, now()),
        provider: await findProvider(tx, tenant, providerId),
      }))
      if (!request || !provider) return unauthorized()
      const verifier = (await unseal(kek, sealContext(request.state_digest), request.verifier_jwe)).toString()
      const known = { redirectUri: redirectUri(providerId), state, nonce: request.nonce, verifier }
      return opening.refusing(by, provider, async () => {
        const proven = await oidc.finish(await providers.clientOf(provider), answer, known)
        const sid = sidOf(proven.claims)
        const spend = async (tx: Tx) => {
          if (await wasSignedOut(tx, tenant, providerId, { ...proven, sid })) throw new Refused('signed_out')
        }
        return opening.open(by, provider, proven, { next: request.next_path, sid, spend })
      })
    },
  }
}
export type SignIn = ReturnType<typeof createSignIn>

export const redirectUriOf = (publicUrl: string, providerId: string): string =>
  `${publicUrl}/admin/login/oidc/callback/${encodeId('identity_provider', providerId)}`
