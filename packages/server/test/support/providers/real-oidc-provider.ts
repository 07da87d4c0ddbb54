import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { Provider } from 'oidc-provider'

type Client = { client_id: string; client_secret?: string; redirect_uris: string[] } & Record<string, unknown>
type Person = { email?: string; name?: string; groups?: string[] }

/** `oidc-provider` on loopback with its own sign-in page. Any known name is signed in without a password. */
export async function startRealProvider(
  t: Pick<TestContext, 'after'>,
  {
    clients,
    people,
    configuration = {},
  }: {
    clients: Client[]
    people: Readonly<Record<string, Person>>
    configuration?: Record<string, unknown>
  },
) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: clients.map((client) => ({
      ...(client.client_secret === undefined && { token_endpoint_auth_method: 'none' }),
      ...client,
    })),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'first' }] },
    cookies: { keys: ['a key for the cookies of a test'] },
    claims: { openid: ['sub'], email: ['email'], profile: ['name'], groups: ['groups'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/sign-in/${uid}` },
    findAccount: (_: unknown, accountId: string) =>
      people[accountId] && { accountId, claims: () => ({ sub: accountId, ...people[accountId] }) },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    ...configuration,
  })
  const answer = provider.callback()
  server.on('request', async (request, response) => {
    if (!request.url?.startsWith('/sign-in/')) return answer(request, response)
    const { params, prompt } = await provider.interactionDetails(request, response)
    if (request.method !== 'POST') return response.end(`<form method="post">${prompt.name}</form>`)
    let body = ''
    for await (const chunk of request) body += chunk
    const accountId = new URLSearchParams(body).get('login') ?? ''
    if (!people[accountId])
      return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'nobody' })
    const grant = new provider.Grant({ accountId, clientId: params.client_id ?? '' })
    grant.addOIDCScope(params.scope ?? '')
    const consent = { grantId: await grant.save() }
    return provider.interactionFinished(request, response, { login: { accountId }, consent })
  })
  return { issuer, signIn, approve }
}

/** A browser that opens `url`, fills in the page and ends at a redirect URI. Returns that URI. */
async function signIn(url: string, login: string): Promise<URL> {
  const { at, text, status } = await walk(url, login)
  if (at.origin === new URL(url).origin) throw new Error(`the provider answered ${status}: ${text}`)
  return at
}

/** A person who opens the address of a device code and approves it. Returns the text of the last page. */
const approve = async (url: string, login: string): Promise<string> => (await walk(url, login)).text

async function walk(url: string, login: string): Promise<{ at: URL; text: string; status: number }> {
  const cookies = new Map<string, string>()
  const { origin } = new URL(url)
  let at = new URL(url)
  let form: URLSearchParams | undefined
  let last = { text: '', status: 0 }
  while (at.origin === origin) {
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: Array.from(cookies, (pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    form = undefined
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const text = await response.text()
    last = { text, status: response.status }
    const location = response.headers.get('location')
    const action = /<form [^>]*action="([^"]*)"/.exec(text)?.[1]
    if (location) at = new URL(location, at)
    else if (text.includes('<form method="post">')) form = new URLSearchParams({ login })
    // A page that asks for a code again has refused the code.
    else if (action !== undefined && !text.includes('op.deviceInputForm')) {
      at = new URL(action.replaceAll('&amp;', '&'), at)
      const fields = text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)
      form = new URLSearchParams(Array.from(fields, ([, name = '', value = '']): [string, string] => [name, value]))
    } else break
  }
  return { at, ...last }
}
