import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createKeyAndRequest, createProof, generateKey } from '@holdfast/crypto'
import { createAuthorities } from '../test/support/authorities.ts'
import { startControl } from '../test/support/device-control-plane.ts'
import { contentFor, createIssuer, digestOf, peerOf } from '../test/support/issuer.ts'
import { type Answered, startServer } from '../test/support/scripted-server.ts'
import { sessionTarget } from './device/at-gateway.ts'
import * as sdk from './index.ts'

const readme = 'packages/sdk/README.md'

/**
 * Runs the snippets of a page, or below one heading of it, as one function with the given variables. Returns the
 * result.
 */
async function snippetsOf(
  page: string,
  given: Record<string, unknown>,
  gives: string,
  heading = '',
): Promise<Record<string, unknown>> {
  const text = await readFile(new URL(`../../../${page}`, import.meta.url), 'utf8')
  const sections = text.split(/^## /m).filter((section) => section.startsWith(heading && `${heading}\n`))
  const blocks = [...sections.join('').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  assert.ok(blocks.length > (heading ? 0 : 2), `${page} ${heading} has its snippets`)
  const body = `${blocks.join('\n')}\nreturn { ${gives} }`.replaceAll(
    /^import (type )?(\{.*\}) from '@holdfast\/sdk'$/gm,
    (_, isType, names) => (isType ? '' : `const ${names} = sdk`),
  )
  const code = stripTypeScriptTypes(`async function run() {\n${body}\n}`)
  // The executed code is in a reviewed file.
  return new Function('sdk', ...Object.keys(given), `${code}\nreturn run()`)(sdk, ...Object.values(given))
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-agent-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('the snippets for a device run', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  control.clock.now = new Date()
  control.content = { ...contentFor('r1'), settings: { poll_seconds: 1 } }
  control.instead['/v1/gateway/pools'] = async () => ({ body: { directory: await control.issuer.directory() } })
  const authorities = await createAuthorities({ tenantId: control.issuer.tenantId, now: () => new Date() })
  control.trust = await control.issuer.trustSet(authorities.inSet())
  control.instead['/v1/spc/issue'] = async ({ body }) => {
    const { pem } = await authorities.issue((body as { csr: string }).csr)
    const spc = { spc_id: 'spc_1', renew_after: new Date(Date.now() + 60_000).toISOString() }
    return { body: { spc, certificate: pem, chain: [authorities.issuing], trust_anchor_version: 1 } }
  }
  const used = Promise.withResolvers<sdk.DeviceCertificate | null>()
  control.instead['/v1/telemetry/session'] = () => ({ body: { accepted: 1, duplicate: 0, rejected: [] } })
  const applied: unknown[] = []
  const said: string[] = []
  const tunnel = {
    publicKey: () => `${'A'.repeat(43)}=`,
    apply: async (...given: unknown[]) => void applied.push(given),
    useCertificate: used.resolve,
    close: () => void applied.push('closed'),
  }
  const stop = new AbortController()
  const log = (line: string) => void said.push(line)
  const given = { baseUrl: control.baseUrl, token: 'hfe_token', folder: await folderFor(t), tunnel, stop, log }
  const { device, polling, following, shown, beginAnew } = await snippetsOf(
    'docs/agents.md',
    given,
    'device, polling, following, shown, beginAnew',
  )
  while (applied.length === 0 || said.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal((await used.promise)?.spcId, 'spc_1')
  await (beginAnew as () => Promise<void>)()
  stop.abort()
  await Promise.all([polling, following])
  const { state } = device as sdk.Device
  assert.equal(state.credential, 'cred-2')
  assert.deepEqual(await sdk.fileStore(`${given.folder}/device.json`).load(), state)
  assert.equal((shown as sdk.SessionProof).credential, 'cred-2')
  assert.match(said[0] ?? '', /^active since 2/)
  assert.equal(control.asks('/v1/telemetry/session').length, 1)
})

test('the snippets for a gateway run', { timeout: 20_000 }, async (t) => {
  const issuer = createIssuer()
  const authorities = await createAuthorities({ tenantId: issuer.tenantId, now: () => new Date() })
  const trust = await issuer.trustSet(authorities.inSet())
  const crls = [await authorities.rootList(), await authorities.issuingList()]
  const content = contentFor('a')
  const policy = await issuer.gatewayPolicy({
    variants: { [digestOf(content)]: content },
    peers: [
      {
        ...peerOf('dev_1', digestOf(content)),
        wireguard_keys: [
          { key: 'new', not_after: null },
          { key: 'old', not_after: new Date(Date.now() + 60_000).toISOString() },
        ],
      },
    ],
  })
  const server = await startServer(t, ({ path, search }): Answered => {
    if (path.endsWith('/trust-anchors')) return { body: { ...trust, crls } }
    if (path.endsWith('/heartbeat')) return { body: { status: 'healthy', server_time: '', next_heartbeat_seconds: 10 } }
    if (path.endsWith('/metering')) return { body: { accepted: 1, duplicate: 0, rejected: [], unknown_resources: [] } }
    if (search.includes('since')) return { status: 304 }
    return { body: { kind: '', seq: 0, base_seq: null, policy, poll_seconds: 1 } }
  })
  const { privateJwk, kid } = generateKey('ES256')
  const credential = await issuer.credential(kid, { iss: server.baseUrl })
  const { method, url } = sessionTarget('gwy_a')
  const proof = createProof(privateJwk, { method, url, accessToken: credential, now: new Date() })
  const counters = new Map([['dev_1', { rx_bytes: 5, tx_bytes: 7 }]])
  const enforced: string[][] = []
  const moves: sdk.AddressMove[] = []
  const said: string[] = []
  const stop = new AbortController()
  const isReady = Promise.withResolvers<void>()
  const installed = Promise.withResolvers<{ authorities: string; crls: string }>()
  const given = {
    baseUrl: server.baseUrl,
    tenantId: issuer.tenantId,
    gatewayId: 'gwy_a',
    folder: await folderFor(t),
    readSecret: () => 'hfg_x',
    stop,
    firewall: {
      enforce: async ({ peers }: sdk.GatewayState) => {
        enforced.push([...peers.keys()])
        isReady.resolve()
      },
      counters: () => ({ denied_packets: 1, resources: { wiki: { rx_bytes: 2, tx_bytes: 3 } } }),
    },
    tls: { install: installed.resolve },
    wireguard: { counters: () => counters, moveAddresses: (move: sdk.AddressMove) => void moves.push(move) },
    log: (line: string) => void said.push(line),
  }
  t.after(() => stop.abort())
  const made = await snippetsOf(
    'docs/gateway-agents.md',
    given,
    'gateway, pulling, next_heartbeat_seconds, admit, admitByCertificate, report, onHandshake',
  )
  const { gateway, pulling, next_heartbeat_seconds } = made
  await isReady.promise
  const [admit, report] = [made.admit as (shown: sdk.SessionProof) => object, made.report as () => Promise<void>]
  admit({ credential, proof })
  assert.throws(() => admit({ credential, proof }), { code: 'replayed' })
  const byCertificate = made.admitByCertificate as (certificate: string) => { deviceId: string }
  const { csr } = await createKeyAndRequest('test')
  assert.match((await installed.promise).crls, /BEGIN X509 CRL/)
  assert.equal(byCertificate((await authorities.issue(csr)).pem).deviceId, 'dev_1')
  const onHandshake = made.onHandshake as (deviceId: string, key: string) => void
  for (const key of ['old', 'new', 'old']) onHandshake('dev_1', key)
  assert.deepEqual(
    moves.map(({ from, to }) => [from, to]),
    [['old', 'new']],
  )
  await report()
  counters.clear()
  await report()
  stop.abort()
  await pulling
  assert.deepEqual(enforced, [['dev_1']])
  assert.equal(next_heartbeat_seconds, 10)
  assert.deepEqual((gateway as sdk.Gateway).sessions.running, [])
  const samples = server.asked
    .filter(({ path }) => path.endsWith('/metering'))
    .map(({ body }) => (body as { samples: object[] }).samples)
  assert.deepEqual(
    samples.map(([one]) => ({ ...one, session_id: '', started_at: '' })),
    [
      {
        device_id: 'dev_1',
        assigned_ip: '100.64.0.1/32',
        policy_digest: digestOf(content),
        session_id: '',
        started_at: '',
        rx_bytes: 5,
        tx_bytes: 7,
        denied_packets: 1,
        resources: [{ resource: 'wiki', rx_bytes: 2, tx_bytes: 3 }],
        state: 'active',
      },
      {
        device_id: 'dev_1',
        assigned_ip: '100.64.0.1/32',
        policy_digest: digestOf(content),
        session_id: '',
        started_at: '',
        rx_bytes: 0,
        tx_bytes: 0,
        state: 'ended',
        end_reason: 'device_gone',
      },
    ],
  )
  assert.ok(said.includes('connected'), said.join())
})

test('the examples of the README run', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  control.clock.now = new Date()
  const issuer = createIssuer()
  const content = contentFor('a')
  const policy = await issuer.gatewayPolicy({
    variants: { [digestOf(content)]: content },
    peers: [peerOf('dev_1', digestOf(content))],
  })
  const trust = await issuer.trustSet()
  const server = await startServer(t, ({ path, search }): Answered => {
    if (path.endsWith('/trust-anchors')) return { body: trust }
    if (path.endsWith('/heartbeat')) return { body: { status: 'healthy', server_time: '', next_heartbeat_seconds: 10 } }
    if (search.includes('since')) return { status: 304 }
    return { body: { kind: '', seq: 0, base_seq: null, policy, poll_seconds: 1 } }
  })
  const stop = new AbortController()
  t.after(() => stop.abort())
  const applied = Promise.withResolvers<unknown>()
  const enforced = Promise.withResolvers<sdk.GatewayState>()
  const own = { stop, folder: await folderFor(t), log: () => {} }
  const tunnel = { publicKey: () => `${'A'.repeat(43)}=`, apply: applied.resolve, close: () => {} }
  const device = { ...own, baseUrl: control.baseUrl, token: 'hfe_token', tunnel }
  const gateway = {
    ...{ ...own, baseUrl: server.baseUrl, tenantId: issuer.tenantId, gatewayId: 'gwy_a' },
    ...{ readSecret: () => 'hfg_x', firewall: { enforce: enforced.resolve } },
  }
  const { polling } = await snippetsOf(readme, device, 'polling', 'A device')
  assert.ok(await applied.promise)
  const made = await snippetsOf(readme, gateway, 'pulling, next_heartbeat_seconds', 'A gateway')
  assert.deepEqual([...(await enforced.promise).peers.keys()], ['dev_1'])
  assert.equal(made.next_heartbeat_seconds, 10)
  stop.abort()
  await Promise.all([polling, made.pulling])
})
