import type { Outbound } from '../../../../outbound/outbound.ts'
import { OutboundError } from '../../../../outbound/outbound-error.ts'
import { FederationError, type ProvenIdentity } from '../proven-identity.ts'
import { refused, type TokenSource, verifySignature } from './id-token.ts'
import { type Metadata, userInfoEndpoint } from './metadata.ts'
import type { OidcProvider } from './presets.ts'

const largestBytes = 256 * 1024
const withinMs = 5000
/** An access token that fits a header (RFC 6750 §2.1), with a bounded length. */
const sendable = /^[\w.~+/-]{1,12000}=*$/

type Claims = Readonly<Record<string, unknown>>
/**
 * Claims by which a provider says that claims are elsewhere (OpenID Connect Core §5.6.2), or that there are too many
 * groups.
 */
const markers = ['_claim_names', 'hasgroups']

const isAbsent = (claims: Claims, name: string) => {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return value === undefined || value === null || value === ''
}
/** Returns the mapped claims that an ID token lacks. */
async function absentClaims(
  { mappedClaims }: Pick<OidcProvider, 'mappedClaims'>,
  proven: ProvenIdentity,
): Promise<string[]> {
  return (await mappedClaims(proven)).filter((name) => isAbsent(proven.claims, name))
}

/**
 * Marks mapped claims as unknown if an ID token came without an access token and the provider has a UserInfo endpoint.
 */
export async function withUnknown(
  proven: ProvenIdentity,
  { provider, metadata }: { provider: Pick<OidcProvider, 'kind' | 'mappedClaims'>; metadata: Metadata },
): Promise<ProvenIdentity> {
  if (provider.kind === 'entra_id' || metadata.userinfo_endpoint === undefined) return proven
  return { ...proven, unknown: await absentClaims(provider, proven) }
}

/**
 * Adds mapped claims that an ID token lacks, from the UserInfo endpoint (OpenID Connect Core §5.3, §5.4). The endpoint
 * is asked only if such claims exist. A claim that neither has counts as absent.
 *
 * @throws FederationError if the endpoint cannot be asked, or its answer is not about this person
 */
export async function addUserInfo(
  proven: ProvenIdentity,
  { provider, metadata, accessToken }: { provider: OidcProvider; metadata: Metadata; accessToken: string | undefined },
  { outbound, source }: { outbound: Pick<Outbound, 'request'>; source: TokenSource },
): Promise<ProvenIdentity> {
  if (metadata.userinfo_endpoint === undefined) return proven
  const absent = await absentClaims(provider, proven)
  const endpoint = absent.length > 0 ? userInfoEndpoint(provider, metadata) : undefined
  if (endpoint === undefined) return proven
  if (accessToken === undefined || !sendable.test(accessToken))
    throw unusable('The ID token lacks mapped claims, and the provider issued no valid access token for UserInfo.')
  const claims = await read(endpoint, accessToken, { outbound, source, provider })
  // Compares with the `sub` of the ID token (§5.3.2). For some kinds the subject of a link is another claim.
  if (typeof claims.sub !== 'string' || claims.sub !== proven.claims.sub) throw refused('subject')
  const found = [...absent, ...markers].filter((name) => isAbsent(proven.claims, name) && !isAbsent(claims, name))
  return { ...proven, claims: { ...proven.claims, ...Object.fromEntries(found.map((name) => [name, claims[name]])) } }
}

async function read(
  endpoint: string,
  accessToken: string,
  { outbound, ...how }: { outbound: Pick<Outbound, 'request'>; source: TokenSource; provider: OidcProvider },
): Promise<Claims> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json, application/jwt;q=0.9' }
  const bounds = { timeoutMs: withinMs, maxResponseBytes: largestBytes }
  const answer = await outbound.request(endpoint, { headers, ...bounds }).catch((e: unknown) => {
    if (!(e instanceof OutboundError)) throw e
    throw new FederationError('unreachable', `The UserInfo of the provider could not be read: ${e.message}`)
  })
  if (answer.status !== 200)
    throw unusable(`The provider answered ${answer.status} to the UserInfo request; redirects are not followed.`)
  const text = answer.body.toString('utf8')
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';')
  switch (type.trim().toLowerCase()) {
    case 'application/json':
      return objectIn(text)
    case 'application/jwt':
      return verified(text.trim(), how)
    default:
      throw unusable('The UserInfo of the provider is neither application/json nor application/jwt.')
  }
}

function objectIn(text: string): Claims {
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found as Claims
  } catch {}
  throw unusable('The UserInfo of the provider is not a JSON object.')
}

/** Verifies a signed answer (§5.3.2). Issuer and audience must match if they are present. Times are not required. */
async function verified(
  token: string,
  { source, provider }: { source: TokenSource; provider: OidcProvider },
): Promise<Claims> {
  if (token.split('.').length === 5)
    throw new FederationError('encrypted', 'The UserInfo of the provider is encrypted, which is not supported.')
  const { payload } = await verifySignature(token, source, {
    algorithms: [...source.algorithms],
    currentDate: source.now(),
    ...(hasClaim(token, 'iss') && { issuer: provider.issuer }),
    ...(hasClaim(token, 'aud') && { audience: provider.clientId }),
  })
  return payload
}

/** True if a token that is not verified yet has a claim, so that the verification checks its value. */
function hasClaim(token: string, name: string): boolean {
  const [, payload = ''] = token.split('.')
  return Object.hasOwn(objectIn(Buffer.from(payload, 'base64url').toString('utf8')), name)
}

const unusable = (message: string) => new FederationError('userinfo', message)
