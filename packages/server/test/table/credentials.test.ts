import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import { type CredentialKind, credentialKinds } from '@holdfast/contract/vocabulary'
import {
  createPeppers,
  createProof,
  generateKey,
  mintToken,
  signJws,
  softwareSigner,
  type TokenPrefix,
} from '@holdfast/crypto'
import { createAdmin } from '@holdfast/sdk'
import pg from 'pg'
import type { TObject } from 'typebox'
import { encodeId } from '../../src/kernel/ids.ts'
import { createAllCallers } from '../support/actors/all-callers.ts'
import { requestChallenge } from '../support/actors/devices.ts'
import { bearer } from '../support/clients/api-calls.ts'
import { send } from '../support/clients/raw-http.ts'
import { startKit } from '../support/deployment/deployment.ts'

const prefixOf = {
  session: 'hfs',
  api_key: 'hfk',
  gateway: 'hfg',
  enrollment_token: 'hfe',
  enrollment_challenge: 'hfc',
} as const
const pathsOf: Record<CredentialKind, readonly string[]> = {
  session: ['/v1/admin/me'],
  api_key: ['/v1/admin/me', '/v1/audit/events', '/v1/nothing'],
  device: ['/v1/policy/digest', '/v1/trust/anchors'],
  gateway: ['/v1/gateway/runtime/unified-policy'],
  enrollment_token: ['/v1/enroll', '/v1/mobile/auth/oidc/providers'],
  enrollment_challenge: ['/v1/enroll/oidc', '/v1/enroll/saml', '/v1/enroll/saml/begin', '/v1/enroll/device-code'],
}
const flip = (c: string) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())
const flipAt = (text: string, at: number) => text.slice(0, at) + flip(text[at] ?? '') + text.slice(at + 1)
/** The index of the last letter at or before `at`. */
const letterBefore = (text: string, at: number): number =>
  /[a-z]/i.test(text[at] ?? '') ? at : letterBefore(text, at - 1)

/** The same text in other spellings; none of them is the credential. */
const spellings: Record<string, (text: string) => string> = {
  'cut at the end': (t) => t.slice(0, -1),
  'cut in the middle': (t) => t.slice(0, t.length >> 1),
  'cut at the start': (t) => t.slice(1),
  longer: (t) => `${t}0`,
  'with an equals sign': (t) => `${t}=`,
  'with more behind an equals sign': (t) => `${t}=${t}`,
  twice: (t) => t + t,
  'all cases flipped': (t) => [...t].map(flip).join(''),
  'one case flipped early': (t) => flipAt(t, letterBefore(t, 30)),
  'one case flipped in the middle': (t) => flipAt(t, letterBefore(t, t.length >> 1)),
  'in lower case': (t) => t.toLowerCase(),
  quoted: (t) => `"${t}"`,
  'in base64': (t) => Buffer.from(t).toString('base64'),
  'in hex': (t) => Buffer.from(t).toString('hex'),
  'percent-encoded': (t) => `%${t.charCodeAt(0).toString(16)}${t.slice(1)}`,
  'with a comma': (t) => `${t},${t}`,
  'with Latin-1 in it': (t) => `${t.slice(0, -1)}\u00e9`,
}

test('every kind of credential, altered in any way, gets one and the same 401 without SQL', async (t) => {
  const kit = await startKit(t)
  const world = await createAllCallers(kit)
  const { peppers } = kit
  const others = createPeppers([{ key: createSecretKey(randomBytes(32)), isRetired: false }], 1)
  const { cookie } = world.callers.session('GET', '')
  const { secret: enrollment } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const good: Record<CredentialKind, string> = {
    session: cookie!.split('=')[1]!,
    api_key: kit.adminKey,
    device: world.own.device.credential,
    gateway: world.own.secret,
    enrollment_token: enrollment,
    enrollment_challenge: await requestChallenge(kit, bearer(enrollment)),
  }
  const headersOf = (kind: CredentialKind, path: string, value: string): Record<string, string | string[]> => {
    if (kind === 'session') return { cookie: `holdfast_session=${value}` }
    const method = path.startsWith('/v1/enroll') ? 'POST' : 'GET'
    const dpop = createProof(world.own.device.key, {
      method,
      url: kit.publicUrl + path,
      accessToken: value,
      now: new Date(),
    })
    return { authorization: `Bearer ${value}`, ...(kind === 'device' && { dpop }) }
  }
  const ask = (path: string, headers: Record<string, string | string[]>) =>
    path.startsWith('/v1/enroll')
      ? send(kit.url, { method: 'POST', path, json: { device: { name: 'x', platform: 'linux' } }, headers })
      : send(kit.url, { path, headers })

  let begun = 0
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first] = given as readonly unknown[]
    const text = typeof first === 'string' ? first : (first as { text?: string }).text
    if (/holdfast\.tenant/.test(text ?? '')) begun++
    return Reflect.apply(query, this, given)
  } as typeof query
  t.after(() => {
    pg.Client.prototype.query = query
  })

  const wrong: string[] = []
  const sentences = new Set<string>()
  let asked = 0
  const expect401 = async (
    what: string,
    path: string,
    headers: Record<string, string | string[]>,
    mayAsk = false,
  ): Promise<void> => {
    const before = begun
    const { status, json } = await ask(path, headers)
    // Background work may start a transaction meanwhile. Only a request that starts one each time is counted.
    let costs = begun !== before
    for (let again = 0; costs && !mayAsk && again < 3; again++) {
      const start = begun
      await ask(path, headers)
      costs = begun !== start
    }
    asked++
    sentences.add(`${json?.error}: ${json?.detail}`)
    if (status !== 401) wrong.push(`${what} ${path} -> ${status} ${JSON.stringify(json)}`)
    if (!mayAsk && costs) wrong.push(`${what} ${path} begins a transaction`)
  }

  for (const kind of credentialKinds)
    for (const path of pathsOf[kind]) {
      const value = good[kind]
      for (const [name, spell] of Object.entries(spellings))
        await expect401(`${kind} ${name}`, path, headersOf(kind, path, spell(value)))
      const headers = headersOf(kind, path, value)
      const name = kind === 'session' ? 'cookie' : 'authorization'
      await expect401(`${kind} in two headers`, path, {
        ...headers,
        [name]: [String(headers[name]), String(headers[name])],
      })
      await expect401(`${kind} before nonsense`, path, {
        ...headers,
        [name]: [String(headers[name]), 'x=y; holdfast_session=z'],
      })
      if (kind !== 'session') {
        await expect401(`${kind} as a cookie`, path, { cookie: `holdfast_session=${value}` })
        await expect401(`${kind} as Basic`, path, { ...headers, authorization: `Basic ${value}` })
      } else await expect401('session as Bearer', path, { authorization: `Bearer ${value}` })
      if (kind === 'device') continue
      const prefix: TokenPrefix = prefixOf[kind]
      const strangers = mintToken(others, prefix, kit.tenant).token
      await expect401(`${kind} of another pepper`, path, headersOf(kind, path, strangers))
      const unknown = mintToken(peppers, prefix, crypto.randomUUID()).token
      await expect401(`${kind} of an unknown tenant`, path, headersOf(kind, path, unknown), true)
      const never = mintToken(peppers, prefix, kit.tenant).token
      await expect401(`${kind} that was never stored`, path, headersOf(kind, path, never), true)
      const isCached = kind !== 'enrollment_token'
      await expect401(`${kind} that was never stored, again`, path, headersOf(kind, path, never), !isCached)
    }

  // Device credentials that are well-formed, but signed with a foreign key.
  const { privateJwk } = generateKey('ES256')
  const [header = '', payload = ''] = good.device.split('.')
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const forge = (more: object, signer = kid) =>
    signJws({ ...softwareSigner('credential', privateJwk), kid: signer }, 'device+jwt', { ...claims, ...more })
  const forged = {
    'another key': await forge({}),
    'an unknown key': await forge({}, 'nobody'),
    'an unknown tenant': await forge({ tid: encodeId('tenant', crypto.randomUUID()) }),
    'a tenant that is none': await forge({ tid: 'tnt_x' }),
    'an unknown device': await forge({ sub: encodeId('device', crypto.randomUUID()) }),
    'no claims': `${header}.${Buffer.from('{}').toString('base64url')}.AAAA`,
    'no signature': `${header}.${payload}.`,
    'alg none': `${Buffer.from('{"alg":"none","typ":"device+jwt"}').toString('base64url')}.${payload}.`,
  }
  for (const path of pathsOf.device)
    for (const [name, value] of Object.entries(forged))
      await expect401(`device by ${name}`, path, headersOf('device', path, value), /tenant/.test(name))

  for (const kind of credentialKinds) {
    const [path = ''] = pathsOf[kind]
    if (kind === 'enrollment_token' || kind === 'enrollment_challenge') continue
    assert.equal((await ask(path, headersOf(kind, path, good[kind]))).status, 200, `${kind} is good all the same`)
  }
  await t.test('a client with a session or an API key can send every operation', async () => {
    for (const kind of ['session', 'api_key'] as const) {
      const { publicUrl: baseUrl, dispatcher } = kit
      const credential = kind === 'session' ? { cookie: cookie! } : { apiKey: kit.adminKey }
      const client = createAdmin({ baseUrl, dispatcher, ...credential }) as Record<string, (input: object) => unknown>
      const of = operations.filter(
        ([, { access, protocol }]) => access.by !== 'anyone' && access.by.includes(kind) && protocol !== 'scim',
      )
      assert.ok(of.length > 100)
      // The session ends last.
      for (const [name, endpoint] of of.toSorted(([a], [b]) => Number(a === 'logout') - Number(b === 'logout'))) {
        const params = Object.fromEntries(
          Object.keys((endpoint.params as TObject | undefined)?.properties ?? {}).map((one) => [one, 'none']),
        )
        const body = endpoint.upload ? ['x'] : undefined
        const refusal = await Promise.try(client[name]!, { params, body }).catch((e: unknown) => e)
        if (!(refusal instanceof Error)) continue
        const { status = 0, message } = refusal as Error & { status?: number }
        const isOfInput = [404, 409, 422].includes(status) || /is required/.test(message)
        if (!isOfInput) wrong.push(`${kind} ${name}: ${status} ${message}`)
      }
    }
  })
  assert.deepEqual(wrong, [])
  assert.deepEqual([...sentences], ['unauthorized: missing or invalid credentials'])
  t.diagnostic(`${asked} requests`)
  assert.deepEqual(
    kit.logs.filter((line) => line.includes('verification of a credential failed')),
    [],
  )
})
