import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { runCli } from '@holdfast/cli/program'
import { peekDeviceCredential } from '@holdfast/crypto'
import { Agent, buildConnector, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { startKit } from '../kit.ts'
import { startRealProvider } from '../providers/real-provider.ts'

test('holdfast device enroll --device-code: somebody approves the machine at oidc-provider, or refuses', async (t) => {
  const idp = await startRealProvider(t, {
    clients: [
      {
        client_id: 'holdfast',
        client_secret: 'known to two',
        redirect_uris: [],
        response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      },
    ],
    people: { anna: { name: 'Anna' } },
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
      ...{ kind: 'oidc', name: 'staff', enrollment: true, provisioning: 'create' },
      claims: { username: 'sub', email: 'email', display_name: 'name', groups: 'groups' },
      oidc: {
        ...{ issuer: idp.issuer, client_id: 'holdfast', client_secret: 'known to two' },
        ...{ scopes: ['openid', 'profile'], device_code: 'on' },
      },
    },
  })
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap' } })

  const run = async (args: string[], login: string) => {
    const said = { out: '', err: '' }
    let person: Promise<unknown> | undefined
    const collect = (name: 'out' | 'err') =>
      new Writable({
        write: (chunk, _encoding, done) => {
          said[name] += String(chunk)
          const [url] = /http:\/\/127\.0\.0\.1:\d+\/device\?user_code=\S+/.exec(said.err) ?? []
          if (url && !person) person = idp.approve(url, login)
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
    const code = await runCli(['device', 'enroll', '--device-code', ...args], streams)
    await person
    return { code, ...said }
  }
  const state = join(home, 'device.json')
  const [enrolled, denied, unknown] = await Promise.all([
    run(['--state', state, '--name', 'rack-7', '--platform', 'linux'], 'anna'),
    run(['--state', join(home, 'other.json')], 'nobody'),
    run(['--state', join(home, 'other.json'), '--provider', 'guests'], 'anna'),
  ])
  assert.equal(enrolled.code, 0, enrolled.err)
  assert.match(enrolled.err, /enter the code [B-Z]{4}-[B-Z]{4}/)
  assert.match(enrolled.err, /only if you began this yourself/)
  assert.match(enrolled.err, /Waiting for approval, 1\d min at most/)
  const saved = JSON.parse(await readFile(state, 'utf8'))
  const device = await kit.admin.getDevice({ params: { device_id: saved.deviceId } })
  assert.deepEqual(device.enrolled_by, { method: 'device_code', token_id: null, provider_id: provider.provider_id })
  const user = await kit.admin.getUser({ params: { user_id: String(device.user_id) } })
  assert.deepEqual([user.username, user.source, device.name], ['anna', 'sso', 'rack-7'])
  assert.equal(peekDeviceCredential(saved.credential).claims.enr, 'device_code')
  assert.equal(denied.code, 1)
  assert.match(denied.err, /The person did not approve this machine\./)
  assert.match(unknown.err, /Choose one with --provider: staff/)
  assert.equal((await kit.admin.listDevices()).items.length, 1)
})
