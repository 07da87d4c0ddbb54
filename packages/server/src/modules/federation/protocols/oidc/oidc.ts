import { idTokenMinutes } from '@holdfast/contract/limits'
import type { Configuration } from 'openid-client'
import { minute, second } from '../../../../kernel/time.ts'
import type { Outbound } from '../../../../outbound/outbound.ts'
import { FederationError, type ProvenIdentity } from '../proven-identity.ts'
import { authorizeDevice, type DeviceAuthorization, type NotYet, redeemDeviceCode } from './device-grant.ts'
import { exchange, type KnownClient, type VerifiedTokens } from './exchange.ts'
import { createFetched } from './fetched.ts'
import { skewSeconds, type TokenSource, verifyIdToken } from './id-token.ts'
import { readKeys } from './keys.ts'
import { fetchThrough, loadClient } from './library.ts'
import { type SignedOut, verifyLogoutToken } from './logout-token.ts'
import { checkIssuer, checkKind, discover, type Metadata } from './metadata.ts'
import type { OidcProvider } from './presets.ts'
import { addUserInfo, withUnknown } from './user-info.ts'

type Issuer = Pick<OidcProvider, 'kind' | 'issuer'>
/** Maximum age of a token that the provider sends to this server itself. */
export const issuedWithinSeconds = (idTokenMinutes * minute) / second

/** Result of an inspection, for the administrator who sets the provider up. */
type Inspection = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  device_authorization_endpoint: string | null
  jwks_uri: string
  /** Number of keys that can verify ID tokens. */
  keys: number
  algorithms: readonly string[]
  /** Name of the claim that holds groups, if the provider announces it or its kind has one. */
  groups_claim_hint: string | null
}

/**
 * Relying party of OpenID Connect: code flow with PKCE, nonce and `iss`. Anything that cannot be read, checked or
 * verified is a FederationError; there is no fallback. UserInfo adds claims. It never replaces a claim of the ID token,
 * and never proves a person.
 */
export function createOidc({
  outbound,
  now,
  nowMs = () => performance.now(),
}: {
  outbound: Pick<Outbound, 'request' | 'refusalOf'>
  now: () => Date
  nowMs?: () => number
}) {
  const fetch = fetchThrough(outbound)
  const metadata = createFetched((issuer) => discover(outbound, issuer), nowMs)
  const keys = createFetched((jwksUri) => readKeys(outbound, jwksUri), nowMs)

  async function metadataOf(provider: Issuer): Promise<Metadata> {
    checkIssuer(provider)
    const found = await metadata.get(provider.issuer)
    checkKind(provider, found)
    return found
  }

  /**
   * Builds the library's configuration for a provider. The library uses the system clock, so it receives our clock's
   * offset.
   */
  async function configure(provider: OidcProvider, found: Metadata): Promise<Configuration> {
    const client = await loadClient()
    const { namesGroups: _, ...server } = found
    const configuration = new client.Configuration(
      server,
      provider.clientId,
      { [client.clockSkew]: Math.round((now().getTime() - Date.now()) / second), [client.clockTolerance]: skewSeconds },
      authentication(client, provider, found),
    )
    if (provider.issuer.startsWith('http:')) client.allowInsecureRequests(configuration)
    return configuration
  }

  const sourceOf = (found: Metadata): TokenSource => ({
    algorithms: found.id_token_signing_alg_values_supported,
    keys: () => keys.get(found.jwks_uri),
    renewedKeys: () => keys.renew(found.jwks_uri),
    now,
  })
  const judge = (provider: Issuer, found: Metadata, token: string, expected: Parameters<typeof verifyIdToken>[2]) =>
    verifyIdToken(provider, token, expected, sourceOf(found))
  /** Adds mapped claims from UserInfo that the ID token lacks. */
  const completed = (
    provider: OidcProvider,
    metadata: Metadata,
    { verified, accessToken }: VerifiedTokens<ProvenIdentity>,
  ) => addUserInfo(verified, { provider, metadata, accessToken }, { outbound, source: sourceOf(metadata) })

  return {
    /**
     * Reads a provider's metadata and keys again and checks them, for saving and testing it. Throws FederationError.
     */
    inspect: async (provider: Issuer): Promise<Inspection> => {
      checkIssuer(provider)
      const found = await metadata.anew(provider.issuer)
      checkKind(provider, found)
      for (const name of ['token_endpoint', 'device_authorization_endpoint'] as const) {
        const refusal = found[name] === undefined ? undefined : outbound.refusalOf(found[name])
        if (refusal)
          throw new FederationError('discovery', `The server cannot connect to the ${name} of the provider. ${refusal}`)
      }
      const { count } = await keys.anew(found.jwks_uri)
      return {
        issuer: found.issuer,
        authorization_endpoint: found.authorization_endpoint,
        token_endpoint: found.token_endpoint,
        device_authorization_endpoint: found.device_authorization_endpoint ?? null,
        jwks_uri: found.jwks_uri,
        keys: count,
        algorithms: found.id_token_signing_alg_values_supported,
        groups_claim_hint: found.namesGroups || provider.kind !== 'oidc' ? 'groups' : null,
      }
    },

    /** Returns the URL for the browser, and the values needed to check the answer. */
    begin: async (
      provider: OidcProvider,
      { redirectUri, ...more }: { redirectUri: string; state?: string; maxAgeSeconds?: number | undefined },
    ): Promise<{ url: string; state: string; nonce: string; verifier: string }> => {
      const client = await loadClient()
      const configuration = await configure(provider, await metadataOf(provider))
      const { maxAgeSeconds, state = client.randomState() } = more
      const nonce = client.randomNonce()
      const verifier = client.randomPKCECodeVerifier()
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', ...provider.scopes])].join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(maxAgeSeconds !== undefined && { max_age: String(maxAgeSeconds) }),
      })
      return { url: url.href, state, nonce, verifier }
    },

    /**
     * Returns the URL at which a browser ends its session with the provider and is sent back. Undefined if the provider
     * has none, or if it is on another host than its kind allows.
     */
    endSession: async (
      provider: Issuer,
      { clientId, returnTo }: { clientId: string; returnTo: string },
    ): Promise<string | undefined> => {
      const { end_session_endpoint: end } = await metadataOf(provider)
      if (end === undefined) return undefined
      const url = new URL(end)
      if (provider.kind !== 'oidc' && url.host !== new URL(provider.issuer).host) return undefined
      url.searchParams.set('client_id', clientId)
      url.searchParams.set('post_logout_redirect_uri', returnTo)
      return url.href
    },

    /** Verifies a logout token of the provider. */
    verifyLogout: async (provider: Issuer, token: string, clientId: string): Promise<SignedOut> => {
      const found = await metadataOf(provider)
      return verifyLogoutToken(provider, token, { audiences: [clientId], issuedWithinSeconds }, sourceOf(found))
    },

    /** Processes the provider's answer at the redirect URI: exchanges the code and verifies the ID token. */
    finish: async (provider: OidcProvider, answer: URLSearchParams, known: KnownClient): Promise<ProvenIdentity> => {
      const found = await metadataOf(provider)
      const configuration = await configure(provider, found)
      const judged = await exchange(configuration, fetch, { metadata: found, answer, known }, (idToken) =>
        judge(provider, found, idToken, {
          audiences: [provider.clientId],
          nonce: known.nonce,
          issuedWithinSeconds,
          maxAgeSeconds: known.maxAgeSeconds,
        }),
      )
      return completed(provider, found, judged)
    },

    /**
     * Verifies an ID token that a device or a native application brought itself. It must be issued to one of
     * `audiences`, at most `maxAgeSeconds` ago.
     */
    verify: async (
      provider: Issuer & Pick<OidcProvider, 'mappedClaims'>,
      idToken: string,
      { audiences, nonce, maxAgeSeconds }: { audiences: readonly string[]; nonce: string; maxAgeSeconds: number },
    ): Promise<ProvenIdentity> => {
      const found = await metadataOf(provider)
      const proven = await judge(provider, found, idToken, { audiences, nonce, issuedWithinSeconds: maxAgeSeconds })
      return withUnknown(proven, { provider, metadata: found })
    },

    /** Begins a device authorization grant (RFC 8628). The client is this server, not the machine. */
    authorizeDevice: async (provider: OidcProvider): Promise<DeviceAuthorization> => {
      const found = await metadataOf(provider)
      if (found.device_authorization_endpoint === undefined)
        throw new FederationError('unsupported', 'The provider does not support the device authorization grant.')
      return authorizeDevice(await configure(provider, found), fetch, provider)
    },

    /**
     * Asks once whether somebody has approved the grant. RFC 8628 has no nonce: the ID token comes only to this server,
     * for a code that only this server knows. All other checks are those of every ID token.
     */
    redeemDeviceCode: async (provider: OidcProvider, deviceCode: string): Promise<ProvenIdentity | NotYet> => {
      const found = await metadataOf(provider).catch((e: unknown) => {
        if (e instanceof FederationError && e.reason === 'unreachable') return undefined
        throw e
      })
      if (!found) return 'away'
      const judged = await redeemDeviceCode(await configure(provider, found), fetch, deviceCode, (idToken) =>
        judge(provider, found, idToken, { audiences: [provider.clientId], nonce: null, issuedWithinSeconds }),
      )
      return typeof judged === 'string' ? judged : completed(provider, found, judged)
    },
  }
}
export type Oidc = ReturnType<typeof createOidc>

/** Default if the provider lists nothing: `client_secret_basic`. */
function authentication(
  client: Awaited<ReturnType<typeof loadClient>>,
  { clientSecret }: OidcProvider,
  { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: Metadata,
) {
  if (!clientSecret) return client.None()
  if (methods.includes('client_secret_basic')) return client.ClientSecretBasic(clientSecret)
  if (methods.includes('client_secret_post')) return client.ClientSecretPost(clientSecret)
  throw new FederationError('client', 'The provider supports neither client_secret_basic nor client_secret_post.')
}
