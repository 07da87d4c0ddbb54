import { createHash, randomUUID, type webcrypto } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CompactJWSHeaderParameters, CompactSign, exportJWK, generateKeyPair, type JWK } from 'jose'

export type Claims = Record<string, unknown>
type Header = { [Name in keyof CompactJWSHeaderParameters]?: CompactJWSHeaderParameters[Name] | undefined }
/** The outcome of a device code: an ID token, or an error code of RFC 8628. */
type Decision = { idToken: string } | { error: string }
type Grant = { challenge: string | null; redirectUri: string | null; idToken: string }
type Key = { kid: string; alg: string; privateKey: webcrypto.CryptoKey; jwk: JWK }

export async function makeKey(alg = 'RS256', kid: string = randomUUID()): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}
/** Signs the given claims. A text is signed as it is, for contents that JSON can't hold. */
export const sign = (key: Key, claims: unknown, header: Header = {}) =>
  new CompactSign(Buffer.from(typeof claims === 'string' ? claims : JSON.stringify(claims)))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header } as CompactJWSHeaderParameters)
    .sign(key.privateKey, { crit: { exp: true } })

/**
 * An OpenID provider on loopback that a test controls. It keeps the rules (PKCE, redirect URI, single-use codes) until
 * the test replaces its metadata, its keys, the claims of a token, or the answer at a path.
 */
export async function startHostileProvider(t: { after: (end: () => void) => void }) {
  const key = await makeKey()
  const grants = new Map<string, Grant>()
  const hits = new Map<string, number>()
  const answers = new Map<string, RequestListener>()
  const published: JWK[] = [key.jwk]
  const changed: Claims = {}
  const deviceCodes: string[] = []
  const decisions = new Map<string, Decision>()
  const deviceChanged: Claims = {}

  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    hits.set(path, (hits.get(path) ?? 0) + 1)
    const special = answers.get(path)
    if (special) return special(request, response)
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (path === '/.well-known/openid-configuration') return json(200, { ...metadata, ...changed })
    if (path === '/keys') return json(200, { keys: published })
    if (path === '/device') {
      deviceCodes.push(randomUUID())
      const code = { device_code: deviceCodes.at(-1), user_code: 'WDJB-MJHT', verification_uri: `${issuer}/activate` }
      return json(200, { ...code, expires_in: 600, interval: 5, ...deviceChanged })
    }
    if (path !== '/token') return json(404, {})
    let body = ''
    for await (const chunk of request) body += chunk
    const form = new URLSearchParams(body)
    if (form.get('grant_type')?.endsWith(':device_code')) {
      const decided = decisions.get(form.get('device_code') ?? '') ?? { error: 'authorization_pending' }
      if ('error' in decided) return json(400, decided)
      decisions.set(form.get('device_code') ?? '', { error: 'invalid_grant' })
      return json(200, { access_token: 'a', token_type: 'Bearer', id_token: decided.idToken })
    }
    const code = form.get('code') ?? ''
    const grant = grants.get(code)
    grants.delete(code)
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (grant?.challenge !== proof || grant.redirectUri !== form.get('redirect_uri'))
      return json(400, { error: 'invalid_grant' })
    return json(200, { access_token: 'a', token_type: 'Bearer', id_token: grant.idToken })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    id_token_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'],
    authorization_response_iss_parameter_supported: true,
  }
  const claims = (more: Claims = {}): Claims => {
    const now = Math.floor(Date.now() / 1000)
    return { iss: issuer, sub: 'someone', aud: 'holdfast', iat: now, exp: now + 300, ...more }
  }

  return {
    issuer,
    key,
    /** Metadata fields to replace. */
    changed,
    published,
    /** A test's own answers, by path. */
    answers,
    /** Fields of the device authorization response to replace. */
    deviceChanged,
    /** The device codes issued so far, newest last. */
    deviceCodes,
    /** The decision on each device code. */
    decisions,
    deviceEndpoint: { device_authorization_endpoint: `${issuer}/device` },
    hitsOf: (path: string) => hits.get(path) ?? 0,
    /** Claims that are valid except for the changes in `more`. */
    claims,
    idToken: (more: Claims = {}, header?: Header) => sign(key, claims(more), header),
    /**
     * Returns the parameters with which the browser would come back from `url`. The code is exchanged for `make`'s
     * token; the default is a valid one.
     */
    answerTo: async (url: string, make: (nonce: string) => Promise<string> | string = rightToken) => {
      const { searchParams: asked } = new URL(url)
      const code = randomUUID()
      const idToken = await make(asked.get('nonce') ?? '')
      grants.set(code, { challenge: asked.get('code_challenge'), redirectUri: asked.get('redirect_uri'), idToken })
      return new URLSearchParams({ code, state: asked.get('state') ?? '', iss: issuer })
    },
  }
  function rightToken(nonce: string) {
    return sign(key, claims({ nonce }))
  }
}
