import { mintToken } from '@holdfast/crypto'
import type { Tx } from '../../../db/database.ts'
import type { Caller } from '../../../kernel/actor.ts'
import type { FederationDeps } from '../deps.ts'
import type { Saml } from '../protocols/saml/saml.ts'
import { findProvider } from '../providers/providers.queries.ts'
import { samlOf, spOf } from '../providers/saml-settings.ts'
import { RefusedSignIn } from './account-resolution.ts'
import { type OpenedSession, type SignInOpening, type WantedSignIn, waitsForMs } from './opening.ts'
import { type ReturnReason, strangerAt, whyNoRequest } from './refused-returns.ts'
import * as queries from './saml-requests.queries.ts'

/** A response for a device, whose application listens on the browser's machine. */
export type HandOver = { handTo: string; providerName: string; samlResponse: string; relayState: string }
/** Fields of the form that a browser posts when the provider sends it back. */
type SamlReturn = {
  providerId: string | undefined
  samlResponse: string | undefined
  relayState: string | undefined
  browser: string | undefined
}

/**
 * Sign-in of administrators by SAML 2.0: one browser, one request, one response, one assertion. RelayState is a token
 * that only identifies the request, so it cannot redirect anywhere.
 */
export function createSamlSignIn(
  deps: Pick<FederationDeps, 'db' | 'now' | 'readToken' | 'peppers' | 'publicUrl' | 'tenancy'> & {
    saml: Pick<Saml, 'begin' | 'finish' | 'metadata'>
    opening: SignInOpening
  },
) {
  const { db, now, readToken, peppers, publicUrl, tenancy, saml, opening } = deps

  return {
    begin: async (wanted: WantedSignIn, caller: Caller): Promise<{ url: string; browser: string }> => {
      const { tenant, by, provider } = await opening.wanted('saml', wanted, caller)
      const state = mintToken(peppers, 'hfr', tenant)
      const { url, requestId } = await opening.refusing(by, provider, async () =>
        saml.begin(samlOf(publicUrl, provider, now()), { relayState: state.token }),
      )
      const browser = opening.browserOf(tenant, wanted.browser)
      await db.inTenant(tenant, (tx) =>
        queries.insertSamlRequest(tx, {
          tenant_id: tenant,
          state_digest: state.digest,
          provider_id: provider.provider_id,
          authn_request_id: requestId,
          browser_digest: browser.digest,
          next_path: wanted.next ?? null,
          challenge_digest: null,
          jkt: null,
          redirect_uri: null,
          expires_at: new Date(now().getTime() + waitsForMs),
        }),
      )
      return { url, browser: browser.token }
    },

    /**
     * Handles the browser's return. The response for a device is handed over unread; otherwise a session is opened.
     * Throws `unauthorized` for everything that is not the one response to a request.
     */
    finish: async (
      { providerId, samlResponse, relayState, browser }: SamlReturn,
      caller: Caller,
    ): Promise<OpenedSession | HandOver> => {
      const read = relayState === undefined ? undefined : readToken(relayState)
      const shown = browser === undefined ? undefined : readToken(browser)
      const state = read?.prefix === 'hfr' ? read : undefined
      const known = state ?? (shown?.prefix === 'hfl' ? shown : undefined)
      await opening.takeStep(caller, known?.tenant)
      const refuse = (reason: ReturnReason) =>
        opening.refuseReturn({ way: 'saml', reason, tenant: known?.tenant, providerId }, caller)
      if (providerId === undefined) return refuse('unknown_provider')
      if (samlResponse === undefined) return refuse('no_response')
      if (!state) return refuse(relayState === undefined || relayState === '' ? 'no_state' : 'unknown_state')
      const { tenant } = state
      const by = strangerAt(tenant, caller)
      const at = now()
      const key = { state_digest: state.digest, provider_id: providerId }
      const { device, request, found, provider } = await db.inTenant(tenant, async (tx) => ({
        device: await queries.findHandOver(tx, tenant, key, at),
        request:
          shown?.prefix === 'hfl'
            ? await queries.takeSamlRequest(tx, tenant, { ...key, browser_digest: shown.digest }, at)
            : undefined,
        found: await queries.findSamlRequest(tx, tenant, key.state_digest),
        provider: await findProvider(tx, tenant, providerId),
      }))
      if (device?.redirect_uri && provider)
        return { handTo: device.redirect_uri, providerName: provider.name, samlResponse, relayState: state.token }
      if (!provider) return refuse('unknown_provider')
      const hasCookie = shown?.prefix === 'hfl'
      if (!request) return refuse(whyNoRequest(found, { providerId, isIssued: true, hasCookie, at }))
      return opening.refusing(by, provider, async () => {
        const answer = { samlResponse, requestId: request.authn_request_id }
        const { assertionId, goodUntil, ...proven } = await saml.finish(samlOf(publicUrl, provider, now()), answer)
        const assertion = { provider_id: providerId, assertion_id: assertionId, good_until: goodUntil }
        const spend = async (tx: Tx) => {
          if ((await queries.spendAssertions(tx, tenant, [assertion])).length === 0) throw new RefusedSignIn('replayed')
        }
        return opening.open(by, provider, proven, { next: request.next_path, sid: null, spend })
      })
    },

    /** Returns our metadata for a provider; undefined for one that does not use SAML. Anybody may read them. */
    metadata: async (tenantName: string, providerId: string, caller: Caller): Promise<string | undefined> => {
      await opening.takeStep(caller)
      const tenant = await tenancy.tenantByName(tenantName)
      if (tenant === undefined) return undefined
      const provider = await db.inTenant(tenant, (tx) => findProvider(tx, tenant, providerId))
      if (!provider?.saml) return undefined
      return saml.metadata({ ...spOf(publicUrl, providerId), nameIdFormat: provider.saml.name_id_format })
    },
  }
}
export type SamlSignIn = ReturnType<typeof createSamlSignIn>
