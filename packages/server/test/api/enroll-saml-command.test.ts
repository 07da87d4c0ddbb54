import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { test } from 'node:test'
import { runCli } from '@holdfast/cli/program'
import { peekDeviceCredential } from '@holdfast/crypto'
import { Agent, buildConnector, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { openBrowser } from '../browser.ts'
import { startSaml } from '../saml.ts'

test('holdfast device enroll --saml: a person signs in, our page hands it on, and the device is theirs', async (t) => {
  const { kit, provider, acs, answer } = await startSaml(t, { settings: { enrollment: true } })
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
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap' } })

  /** What a person does with the address that the command shows: the provider, our page, and its button. */
  const statuses: number[] = []
  const person = async (url: string) => {
    const page = await openBrowser(kit).post(acs, answer(url))
    const [, action = ''] = /<form method="post" action="([^"]*)">/.exec(page.text) ?? []
    const fields = [...page.text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value])
    const form = Object.fromEntries(fields) as Record<string, string>
    const press = async (body: Record<string, string>) =>
      statuses.push((await fetch(action, { method: 'POST', body: new URLSearchParams(body) })).status)
    await press({ ...form, RelayState: 'of another' })
    await press(form)
  }
  const run = async (args: string[]) => {
    const said = { out: '', err: '' }
    let browser: Promise<unknown> | undefined
    const collect = (name: 'out' | 'err') =>
      new Writable({
        write: (chunk, _encoding, done) => {
          said[name] += String(chunk)
          const [url] = /https:\/\/idp\.example\/sso\S+/.exec(said.err) ?? []
          if (url && !browser) browser = person(url)
          done()
        },
      })
    const input = new PassThrough()
    input.end(`${token}\n`)
    const env = { HOME: home, HOLDFAST_URL: kit.publicUrl }
    const code = await runCli(['device', 'enroll', ...args], {
      ...{ input, output: collect('out'), errors: collect('err'), env },
    })
    await browser
    return { code, ...said }
  }
  const state = join(home, 'device.json')
  const enrolled = await run(['--saml', '--state', state, '--name', 'lap', '--platform', 'linux'])
  assert.equal(enrolled.code, 0, enrolled.err)
  assert.deepEqual(statuses, [404, 200], 'what is not its answer is told nothing')
  const saved = JSON.parse(await readFile(state, 'utf8'))
  const device = await kit.admin.getDevice({ params: { device_id: saved.deviceId } })
  assert.deepEqual(device.enrolled_by, { method: 'saml', token_id: null, provider_id: provider.provider_id })
  assert.equal(peekDeviceCredential(saved.credential).claims.enr, 'saml')

  const unknown = await run(['--saml', '--state', join(home, 'other.json'), '--provider', 'guests'])
  assert.match(unknown.err, /Choose one with --provider: Login/)
  assert.match(
    (await run(['--saml', '--oidc', '--state', join(home, 'other.json')])).err,
    /Either --oidc, --saml or --device-code/,
  )
})
