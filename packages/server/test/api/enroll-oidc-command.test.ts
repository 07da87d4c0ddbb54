import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { runCli } from '@holdfast/cli/program'
import { peekDeviceCredential } from '@holdfast/crypto'
import { beginOidcEnrollment } from '@holdfast/sdk'
import { Agent, buildConnector, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { startKit } from '../kit.ts'
import { startRealProvider } from '../providers/real-provider.ts'

test('holdfast device enroll --oidc: a person signs in at oidc-provider, and the device is theirs', async (t) => {
  const redirect_uris = ['http://127.0.0.1/callback']
  const idp = await startRealProvider(t, {
    clients: [{ client_id: 'laptops', redirect_uris, application_type: 'native' }],
    people: { anna: { name: 'Anna' }, ben: {} },
  })
  const kit = await startKit(t, { config: { allowedPrivateCidrs: ['127.0.0.0/8'] } })
  const usual = getGlobalDispatcher()
  const { hostname, port } = new URL(kit.url)
  const plain = buildConnector({})
  const both = new Agent({
    connect: (to, callback) => plain(to.hostname === 'holdfast.test' ? { ...to, hostname, port } : to, callback),
  })
  setGlobalDispatcher(both)
  const home = await mkdtemp(join(tmpdir(), 'holdfast-enroll-'))
  t.after(async () => {
    setGlobalDispatcher(usual)
    await both.destroy()
    await rm(home, { recursive: true, force: true })
  })
  const provider = await kit.admin.createIdentityProvider({
    body: {
      kind: 'oidc',
      name: 'staff',
      enrollment: true,
      provisioning: 'create',
      claims: { username: 'sub', email: 'email', display_name: 'name', groups: 'groups' },
      oidc: {
        issuer: idp.issuer,
        client_id: 'holdfast',
        scopes: ['openid', 'profile'],
        mobile_client_ids: ['laptops'],
      },
    },
  })
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap' } })

  const run = async (args: string[], login: string) => {
    const said = { out: '', err: '' }
    let browser: Promise<unknown> | undefined
    const collect = (name: 'out' | 'err') =>
      new Writable({
        write: (chunk, _encoding, done) => {
          said[name] += String(chunk)
          const [url] = /http:\/\/127\.0\.0\.1:\d+\/auth\S+/.exec(said.err) ?? []
          if (url && !browser) browser = idp.signIn(url, login).then((back) => fetch(back))
          done()
        },
      })
    const input = new PassThrough()
    input.end(`${token}\n`)
    const streams = {
      input,
      output: collect('out'),
      errors: collect('err'),
      env: { HOME: home, HOLDFAST_URL: kit.publicUrl },
    }
    const code = await runCli(['device', 'enroll', '--oidc', ...args], streams)
    await browser
    return { code, ...said }
  }
  const state = join(home, 'device.json')
  const enrolled = await run(['--state', state, '--name', 'lap', '--platform', 'linux'], 'anna')
  assert.equal(enrolled.code, 0, enrolled.err)
  const saved = JSON.parse(await readFile(state, 'utf8'))
  const device = await kit.admin.getDevice({ params: { device_id: saved.deviceId } })
  assert.deepEqual(device.enrolled_by, { method: 'oidc', token_id: null, provider_id: provider.provider_id })
  const user = await kit.admin.getUser({ params: { user_id: String(device.user_id) } })
  assert.deepEqual([user.username, user.source, device.name], ['anna', 'sso', 'lap'])
  assert.equal(peekDeviceCredential(saved.credential).claims.enr, 'oidc')
  assert.equal((await kit.admin.listTokens()).items[0]?.uses, 0, 'a bootstrap token only begins')

  const denied = await run(['--state', join(home, 'other.json')], 'nobody')
  assert.equal(denied.code, 1)
  assert.match(denied.err, /did not sign you in: access_denied/)
  const unknown = await run(['--state', join(home, 'other.json'), '--provider', 'guests'], 'anna')
  assert.equal(unknown.code, 2)
  assert.match(unknown.err, /Choose one with --provider: staff/)

  // The same by the library, with an ID token that the application got by itself, which enrolls no other key.
  const [mine, others] = await Promise.all(
    [1, 2].map(() => beginOidcEnrollment({ baseUrl: kit.publicUrl, credential: token, dispatcher: kit.dispatcher })),
  )
  const redirect_uri = 'http://127.0.0.1/callback'
  const code_verifier = 'v'.repeat(64)
  const asked = new URL(`${idp.issuer}/auth`)
  const parameters = {
    ...{ response_type: 'code', client_id: 'laptops', redirect_uri, scope: 'openid', nonce: mine!.nonce, state: 's' },
    ...{
      code_challenge_method: 'S256',
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    },
  }
  for (const [name, value] of Object.entries(parameters)) asked.searchParams.set(name, value)
  const { searchParams } = await idp.signIn(asked.href, 'ben')
  const form = { grant_type: 'authorization_code', code: searchParams.get('code') ?? '', redirect_uri, code_verifier }
  const answer = await fetch(`${idp.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...form, client_id: 'laptops' }),
  })
  const { id_token } = (await answer.json()) as { id_token: string }
  const given = { provider_id: provider.provider_id, id_token, device: { name: 'app', platform: 'android' } } as const
  await assert.rejects(others!.finish(given), { status: 401 }, 'a stolen ID token enrolls no other key')
  const opened = await mine!.finish(given)
  const theirs = await kit.admin.getDevice({ params: { device_id: opened.state.deviceId } })
  assert.equal((await kit.admin.getUser({ params: { user_id: String(theirs.user_id) } })).username, 'ben')
})
