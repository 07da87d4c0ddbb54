import type { Outbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../proven-identity.ts'
import { fetchThrough, loadClient, outboundErrorIn } from './library.ts'
import { issuerProblem, type OidcProvider } from './presets.ts'

/** Accepted signature algorithms. `EdDSA` is the name of Ed25519 before RFC 9864. */
const algorithms: readonly string[] = ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA']
const maxUrlLength = 2048

/** Stored part of a provider's metadata, under the names of OpenID Connect Discovery. */
export type Metadata = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  jwks_uri: string
  device_authorization_endpoint?: string
  end_session_endpoint?: string
  /** Unchecked value of the provider; it is checked before use. */
  userinfo_endpoint?: string
  /** Algorithms of the provider that are accepted here; never empty. */
  id_token_signing_alg_values_supported: string[]
  token_endpoint_auth_methods_supported?: string[]
  authorization_response_iss_parameter_supported: boolean
  namesGroups: boolean
}

const unusable = (message: string) => new FederationError('discovery', message)
const textsOf = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((text) => typeof text === 'string') : undefined

/** Reads the metadata of an issuer. Throws FederationError. */
export async function discover(outbound: Pick<Outbound, 'request'>, issuer: string): Promise<Metadata> {
  const found = await read(outbound, issuer)
  if (found.issuer !== issuer)
    throw new FederationError('issuer', 'The metadata of the provider name an issuer other than the configured one.')
  const listed = textsOf(found.id_token_signing_alg_values_supported) ?? ['RS256']
  const taken = algorithms.filter((algorithm) => listed.includes(algorithm))
  if (taken.length === 0)
    throw new FederationError('algorithm', `The provider signs ID tokens with none of ${algorithms.join(', ')}.`)
  const methods = textsOf(found.token_endpoint_auth_methods_supported)?.filter((method) =>
    knownMethods.includes(method),
  )
  const device = found.device_authorization_endpoint ?? undefined
  const end = found.end_session_endpoint
  const userInfo = found.userinfo_endpoint
  return {
    issuer,
    authorization_endpoint: urlIn(found, 'authorization_endpoint', issuer),
    token_endpoint: urlIn(found, 'token_endpoint', issuer),
    jwks_uri: urlIn(found, 'jwks_uri', issuer),
    ...(device !== undefined && {
      device_authorization_endpoint: urlIn(found, 'device_authorization_endpoint', issuer),
    }),
    // Sign-in does not need this endpoint, so an unusable one is ignored.
    ...(typeof end === 'string' && problemOfUrl(end, issuer) === undefined && { end_session_endpoint: end }),
    ...(typeof userInfo === 'string' && userInfo !== '' && { userinfo_endpoint: userInfo }),
    id_token_signing_alg_values_supported: taken,
    ...(methods && { token_endpoint_auth_methods_supported: methods }),
    authorization_response_iss_parameter_supported: found.authorization_response_iss_parameter_supported === true,
    namesGroups: textsOf(found.claims_supported)?.includes('groups') ?? false,
  }
}
const knownMethods: readonly string[] = ['client_secret_basic', 'client_secret_post', 'none']

async function read(outbound: Pick<Outbound, 'request'>, issuer: string): Promise<Readonly<Record<string, unknown>>> {
  const client = await loadClient()
  try {
    const configuration = await client.discovery(new URL(issuer), 'discovery', undefined, client.None(), {
      [client.customFetch]: fetchThrough(outbound),
      execute: issuer.startsWith('http:') ? [client.allowInsecureRequests] : [],
    })
    return { ...configuration.serverMetadata() }
  } catch (e) {
    const refused = outboundErrorIn(e)
    if (refused)
      throw new FederationError('unreachable', `The metadata of the provider could not be read: ${refused.message}`)
    const code = e instanceof Error && 'code' in e ? e.code : undefined
    if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
      throw new FederationError('issuer', 'The metadata of the provider name an issuer other than the configured one.')
    throw unusable(
      code === 'OAUTH_RESPONSE_IS_NOT_CONFORM'
        ? 'The provider did not answer 200 at the URL of its metadata; redirects are not followed.'
        : 'The document at the URL of the metadata is not provider metadata.',
    )
  }
}

/**
 * Returns a usable URL. Plain http is accepted only if the issuer has it too; the outbound guard allows it in networks
 * that the deployment opened.
 */
function urlIn(found: Readonly<Record<string, unknown>>, name: string, issuer: string): string {
  const text = found[name]
  const problem = typeof text === 'string' ? problemOfUrl(text, issuer) : 'is missing or not a string'
  if (typeof text === 'string' && problem === undefined) return text
  throw unusable(`The ${name} of the provider ${problem}.`)
}
function problemOfUrl(text: string, issuer: string): string | undefined {
  if (text.length > maxUrlLength || !URL.canParse(text)) return 'is not a valid URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && issuer.startsWith('http:')))
    return 'must begin with https://'
  return url.username || url.password || url.hash ? 'must not contain a user name, password or fragment' : undefined
}

/**
 * Returns the UserInfo endpoint. Undefined for Entra ID, whose UserInfo has fewer claims than its ID tokens. Throws
 * FederationError.
 */
export function userInfoEndpoint(
  { kind, issuer }: Pick<OidcProvider, 'kind' | 'issuer'>,
  { userinfo_endpoint: url }: Metadata,
): string | undefined {
  if (kind === 'entra_id' || url === undefined) return undefined
  const problem = problemOfUrl(url, issuer)
  if (problem) throw unusable(`The userinfo_endpoint of the provider ${problem}.`)
  if (kind !== 'oidc' && new URL(url).host !== new URL(issuer).host)
    throw unusable('The userinfo_endpoint of the provider is not on the host of its issuer.')
  return url
}

/**
 * Checks rules for a kind of provider beyond its own metadata. Known products have all endpoints on the host of their
 * issuer. For others that cannot be required (Google uses three hosts). There the outbound guard judges each request,
 * and the issuer's document, read over TLS, names the hosts.
 */
export function checkKind({ kind, issuer }: Pick<OidcProvider, 'kind' | 'issuer'>, metadata: Metadata): void {
  if (kind === 'oidc') return
  const { host } = new URL(issuer)
  for (const name of [
    'authorization_endpoint',
    'token_endpoint',
    'jwks_uri',
    'device_authorization_endpoint',
  ] as const) {
    const url = metadata[name]
    if (url !== undefined && new URL(url).host !== host)
      throw unusable(`The ${name} of the provider is not on the host of its issuer.`)
  }
}

export function checkIssuer({ kind, issuer }: Pick<OidcProvider, 'kind' | 'issuer'>): void {
  const problem = issuerProblem(kind, issuer)
  if (problem) throw new FederationError('issuer', problem)
}
