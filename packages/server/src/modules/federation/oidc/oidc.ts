import type { Configuration } from 'openid-client'
import { minute, second } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { FederationError, type Proven } from '../proven.ts'
import { authorizeDevice, type DeviceAuthorization, type NotYet, redeemDeviceCode } from './device-grant.ts'
import { exchange, type Judged, type Known } from './exchange.ts'
import { createFetched } from './fetched.ts'
import { skewSeconds, type TokenSource, verifyIdToken } from './id-token.ts'
import { readKeys } from './keys.ts'
import { fetchThrough, loadClient } from './library.ts'
import { type SignedOut, verifyLogoutToken } from './logout-token.ts'
import { checkIssuer, checkKind, discover, type Metadata } from './metadata.ts'
import type { OidcProvider } from './presets.ts'
import { addUserInfo, withUnknown } from './user-info.ts'

type Issuer = Pick<OidcProvider, 'kind' | 'issuer'>
/** A token that came for a code was issued a moment ago. */
export const issuedWithinSeconds = (10 * minute) / second

/** What a provider shows of itself, for the person who sets it up. */
type Inspection = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  device_authorization_endpoint: string | null
  jwks_uri: string
  /** How many keys can verify ID tokens. */
  keys: number
  algorithms: readonly string[]
  /** The claim that holds groups, where the provider says so or its kind has one. */
  groups_claim_hint: string | null
}

/**
 * The relying party of OpenID Connect: code flow with PKCE, nonce and `iss`. There is one way to be believed and no
 * second: what can't be read, checked or verified is a FederationError. UserInfo adds claims; it never replaces one of
 * the ID token, nor proves who somebody is.
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

  /** The library's view of a provider. It asks the machine what time it is, so it is told how far that is off. */
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
  /** With what UserInfo says of mapped claims that the ID token lacks. */
  const completed = (provider: OidcProvider, metadata: Metadata, { verified, accessToken }: Judged<Proven>) =>
    addUserInfo(verified, { provider, metadata, accessToken }, { outbound, source: sourceOf(metadata) })

  return {
    /** Reads a provider's metadata and keys anew and checks them, for saving and testing it. Throws FederationError. */
    inspect: async (provider: Issuer): Promise<Inspection> => {
      checkIssuer(provider)
      const found = await metadata.anew(provider.issuer)
      checkKind(provider, found)
      for (const name of ['token_endpoint', 'device_authorization_endpoint'] as const) {
        const refusal = found[name] === undefined ? undefined : outbound.refusalOf(found[name])
        if (refusal) throw new FederationError('discovery', `The ${name} of the provider can't be used. ${refusal}`)
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

    /** Where to send the browser, and what must be remembered to recognise the answer. */
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
     * Where a browser ends its session with the provider, and is sent back from; undefined where it has no such place,
     * or one on another host than a provider of its kind has.
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

    /** Who has signed out at the provider, by its word. */
    verifyLogout: async (provider: Issuer, token: string, clientId: string): Promise<SignedOut> => {
      const found = await metadataOf(provider)
      return verifyLogoutToken(provider, token, { audiences: [clientId], issuedWithinSeconds }, sourceOf(found))
    },

    /** The answer of a provider as it came to the redirect URI: the code is exchanged and the ID token verified. */
    finish: async (provider: OidcProvider, answer: URLSearchParams, known: Known): Promise<Proven> => {
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
     * An ID token that a device or a native app brought itself, issued to one of `audiences` at most `maxAgeSeconds`
     * ago.
     */
    verify: async (
      provider: Issuer & Pick<OidcProvider, 'mappedClaims'>,
      idToken: string,
      { audiences, nonce, maxAgeSeconds }: { audiences: readonly string[]; nonce: string; maxAgeSeconds: number },
    ): Promise<Proven> => {
      const found = await metadataOf(provider)
      const proven = await judge(provider, found, idToken, { audiences, nonce, issuedWithinSeconds: maxAgeSeconds })
      return withUnknown(proven, { provider, metadata: found })
    },

    /** Begins a device authorization grant (RFC 8628), of which we are the client, and the machine is not. */
    authorizeDevice: async (provider: OidcProvider): Promise<DeviceAuthorization> => {
      const found = await metadataOf(provider)
      if (found.device_authorization_endpoint === undefined)
        throw new FederationError('unsupported', 'The provider has no device authorization grant.')
      return authorizeDevice(await configure(provider, found), fetch, provider)
    },

    /**
     * Asks once whether somebody has approved it. There is no nonce (RFC 8628 has none): the ID token comes to us
     * alone, for the code that we alone know, and is judged in everything else as any other.
     */
    redeemDeviceCode: async (provider: OidcProvider, deviceCode: string): Promise<Proven | NotYet> => {
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

/** `client_secret_basic` is what holds where a provider lists nothing. */
function authentication(
  client: Awaited<ReturnType<typeof loadClient>>,
  { clientSecret }: OidcProvider,
  { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }: Metadata,
) {
  if (!clientSecret) return client.None()
  if (methods.includes('client_secret_basic')) return client.ClientSecretBasic(clientSecret)
  if (methods.includes('client_secret_post')) return client.ClientSecretPost(clientSecret)
  throw new FederationError('client', 'The provider takes a client secret neither by Basic nor in the form.')
}
