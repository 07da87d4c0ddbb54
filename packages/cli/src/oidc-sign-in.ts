import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { ConnectionError } from '@holdfast/sdk'
import { NotSignedIn } from './exit.ts'

/** What is asked for at an identity provider. */
type Wanted = { issuer: string; clientId: string; scopes: readonly string[]; nonce: string }
/** What came back: a code, and what it takes to redeem it. */
type SignedIn = { code: string; code_verifier: string; redirect_uri: string; client_id: string; iss?: string }

const discoverySeconds = 10

/**
 * Lets a person sign in with their own browser, as a native application does (RFC 8252): a code with PKCE, sent to a
 * port of this machine. `show` is given the address to open. Throws `NotSignedIn`, and
 * `ConnectionError` where the provider is not reached.
 */
export async function signInByBrowser(wanted: Wanted, until: Date, show: (url: string) => void): Promise<SignedIn> {
  const { issuer, clientId, nonce, scopes } = wanted
  const endpoint = await authorizationEndpoint(issuer)
  const state = randomBytes(24).toString('base64url')
  const code_verifier = randomBytes(32).toString('base64url')
  const listener = await listen(state)
  try {
    const redirect_uri = `http://127.0.0.1:${listener.port}/callback`
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
    const answer = await Promise.race([listener.answer, tooLate(until, listener.closed)])
    const iss = answer.get('iss') ?? undefined
    if (iss !== undefined && iss !== issuer) throw new NotSignedIn('The answer came from another identity provider.')
    const error = answer.get('error')
    if (error !== null) throw new NotSignedIn(`The identity provider did not sign you in: ${error.slice(0, 64)}.`)
    const code = answer.get('code')
    if (!code) throw new NotSignedIn('The identity provider sent no code.')
    return { code, code_verifier, redirect_uri, client_id: clientId, ...(iss !== undefined && { iss }) }
  } finally {
    listener.close()
  }
}

/** From the discovery document, which must be that of this issuer (OpenID Connect Discovery 1.0, 4.3). */
async function authorizationEndpoint(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const unusable = new NotSignedIn(`${url} does not say how to sign in.`)
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

const page = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>Holdfast</title><p>${text} You can close this window.</p>`
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  connection: 'close',
}

/** Takes the one answer that shows the state; whatever else asks on this port is told nothing. */
async function listen(state: string) {
  const closed = new AbortController()
  let settle: (answer: URLSearchParams) => void = () => {}
  const answer = new Promise<URLSearchParams>((resolve) => {
    settle = resolve
  })
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname !== '/callback' || searchParams.get('state') !== state)
      return void response.writeHead(404, pageHeaders).end(page('This is not the answer that is waited for.'))
    response.writeHead(200, pageHeaders).end(page('Your answer has arrived.'), () => settle(searchParams))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    answer,
    closed: closed.signal,
    close: () => {
      closed.abort()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function tooLate(until: Date, signal: AbortSignal): Promise<never> {
  await delay(Math.max(0, until.getTime() - Date.now()), undefined, { signal })
  throw new NotSignedIn('Nobody signed in in time. Begin again.')
}
