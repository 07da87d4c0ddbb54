import { createHash, randomBytes } from 'node:crypto'
import { ConnectionError } from '@holdfast/sdk'
import { NotSignedIn } from './exit.ts'
import { withLoopback } from './loopback.ts'

/** Parameters of the sign-in at an identity provider. */
type Wanted = { issuer: string; clientId: string; scopes: readonly string[]; nonce: string }
/** Result: a code, and the values that redeem it. */
type SignedIn = { code: string; code_verifier: string; redirect_uri: string; client_id: string; iss?: string }

const discoverySeconds = 10

/**
 * Lets a person sign in with their own browser, as a native application does (RFC 8252): a code with PKCE, sent to a
 * local port. `show` gets the address to open. Throws `NotSignedIn`, and `ConnectionError` if the provider can't be
 * reached.
 */
export async function signInByBrowser(wanted: Wanted, until: Date, show: (url: string) => void): Promise<SignedIn> {
  const { issuer, clientId, nonce, scopes } = wanted
  const endpoint = await authorizationEndpoint(issuer)
  const state = randomBytes(24).toString('base64url')
  const code_verifier = randomBytes(32).toString('base64url')
  const read = (_: unknown, { searchParams }: URL) => (searchParams.get('state') === state ? searchParams : undefined)
  return withLoopback(read, async (redirect_uri, answerUntil) => {
    const url = new URL(endpoint)
    const asked = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri,
      scope: [...new Set(['openid', ...scopes])].join(' '),
      state,
      nonce,
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
    show(url.href)
    const answer = await answerUntil(until)
    const iss = answer.get('iss') ?? undefined
    if (iss !== undefined && iss !== issuer) throw new NotSignedIn('The answer came from another identity provider.')
    const error = answer.get('error')
    if (error !== null) throw new NotSignedIn(`The identity provider did not sign you in: ${error.slice(0, 64)}.`)
    const code = answer.get('code')
    if (!code) throw new NotSignedIn('The identity provider sent no code.')
    return { code, code_verifier, redirect_uri, client_id: clientId, ...(iss !== undefined && { iss }) }
  })
}

/**
 * Reads the endpoint from the discovery document, which must be that of this issuer (OpenID Connect Discovery 1.0,
 * 4.3).
 */
async function authorizationEndpoint(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const unusable = new NotSignedIn(`${url} has no sign-in endpoints: check the issuer of the identity provider.`)
  try {
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(discoverySeconds * 1000) })
    const found = (await answer.json()) as { issuer?: unknown; authorization_endpoint?: unknown }
    const { authorization_endpoint: endpoint } = found
    if (found.issuer !== issuer || typeof endpoint !== 'string' || !/^https?:$/.test(new URL(endpoint).protocol))
      throw unusable
    return endpoint
  } catch (e) {
    if (e === unusable) throw e
    throw new ConnectionError(`${url} can't be read: ${e instanceof Error ? e.message : String(e)}.`)
  }
}
