import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { contentFor, createIssuer, digestOf, makeKey, peerOf } from '../../test/support/issuer.ts'
import { type Answered, startServer } from '../../test/support/scripted-server.ts'
import { folderStore, type GatewayStore, openGateway } from '../index.ts'

const content = contentFor('a')
const variants = { [digestOf(content)]: content }
const peers = (...ids: string[]) => ids.map((id) => peerOf(id, digestOf(content)))

/** A store in memory that tests can read, change and break. */
function memoryStore() {
  const texts = new Map<string, string>()
  const store = { texts, isBroken: false }
  const save: GatewayStore['save'] = async (name, text) => {
    if (store.isBroken) throw new Error('the disk is full')
    if (text === null) texts.delete(name)
    else texts.set(name, text)
  }
  return Object.assign(store, {
    save,
    load: async (name: string) => texts.get(name),
    list: async () => [...texts.keys()],
  })
}

async function startControl(t: TestContext) {
  const clock = { now: new Date('2030-01-01T00:00:00Z') }
  const issuer = createIssuer({ now: () => clock.now })
  const trust = await issuer.trustSet()
  const control = {
    clock,
    issuer,
    store: memoryStore(),
    policies: [] as object[],
    isAway: false,
    chunks: new Map<string, object>(),
  }
  const server = await startServer(t, async ({ path }): Promise<Answered> => {
    if (control.isAway) return 'hang up'
    if (path.endsWith('/trust-anchors')) return { body: trust }
    if (path.endsWith('/metering')) return { body: { accepted: 1, duplicate: 0, rejected: [], unknown_resources: [] } }
    const [, digest] = path.split('/chunks/')
    if (digest !== undefined) return { body: control.chunks.get(decodeURIComponent(digest)) ?? {} }
    const next = control.policies.shift()
    if (!next) return { status: 304 }
    return { body: { kind: '', seq: 0, base_seq: null, policy: await issuer.gatewayPolicy(next), poll_seconds: 1 } }
  })
  const errors: unknown[] = []
  const open = (more: { tenantId?: string; gatewayId?: string } = {}) =>
    openGateway({
      baseUrl: server.baseUrl,
      secret: 'hfg_x',
      gatewayId: 'gwy_a',
      tenantId: issuer.tenantId,
      store: control.store,
      onStoreError: (e) => errors.push(e),
      now: () => clock.now,
      random: () => 0,
      ...more,
    })
  const searches = () => server.asked.filter((a) => a.path.endsWith('unified-policy')).map((a) => a.search)
  const reports = () =>
    server.asked.filter((a) => a.path.endsWith('/metering')).map(({ body }) => body as Record<string, unknown>)
  return Object.assign(control, { open, errors, searches, reports })
}
type Control = Awaited<ReturnType<typeof startControl>>
const held = (gateway: { state: { peers: Map<string, unknown> } | null }) =>
  gateway.state && [...gateway.state.peers.keys()]

/** Runs a gateway that accepts a snapshot of two peers and a delta that adds a third and removes the first. */
async function runOnce(control: Control) {
  control.policies.push(
    { seq: 1, variants, peers: peers('dev_1', 'dev_2') },
    { kind: 'delta', base_seq: 1, seq: 2, variants, peers: peers('dev_3'), removed_peers: ['dev_1'] },
  )
  const gateway = control.open()
  await gateway.pull()
  await gateway.pull()
  assert.deepEqual(held(gateway), ['dev_2', 'dev_3'])
  control.isAway = true
  return gateway
}

test('what was accepted is in force again after a restart, to the same moment, and goes on with a delta', async (t) => {
  const control = await startControl(t)
  const before = (await runOnce(control)).state
  const again = control.open()
  assert.equal(await again.restore(), true)
  assert.deepEqual(again.state, before)
  control.clock.now = new Date((before?.expiresAt.getTime() ?? 0) - 1)
  assert.deepEqual(held(again), ['dev_2', 'dev_3'])
  control.clock.now = before?.expiresAt ?? control.clock.now
  assert.deepEqual(held(again), [])
  assert.deepEqual(held(await reopened(control)), [], 'also where it ended between two runs')
  control.isAway = false
  control.policies.push({ kind: 'delta', base_seq: 2, seq: 3, removed_peers: ['dev_2'] })
  await again.pull()
  assert.deepEqual(held(again), ['dev_3'])
  assert.match(control.searches().at(-1) ?? '', /since=2&as_of=2030/)
  assert.deepEqual(held(await reopened(control)), ['dev_3'])
})

async function reopened(control: Control) {
  const gateway = control.open()
  await gateway.restore()
  return gateway
}

test('peers of chunks are there again without the control plane', async (t) => {
  const control = await startControl(t)
  const chunk = { peers: peers('dev_7') }
  control.chunks.set(digestOf(chunk), chunk)
  control.policies.push({ seq: 1, variants, peers: peers('dev_1'), chunks: [{ digest: digestOf(chunk), bytes: 1 }] })
  await control.open().pull()
  control.isAway = true
  assert.deepEqual(held(await reopened(control)), ['dev_1', 'dev_7'])
})

const rewrite = (control: Control, name: string, change: (said: Record<string, unknown>) => object) => {
  const { texts } = control.store
  texts.set(name, JSON.stringify(change(JSON.parse(texts.get(name) ?? '{}'))))
}
const sign = (control: Control, policy: object, more?: Parameters<Control['issuer']['gatewayPolicy']>[1]) =>
  control.issuer.gatewayPolicy({ seq: 1, variants, peers: peers('dev_1', 'dev_2', 'dev_evil'), ...policy }, more)
const set = (control: Control, name: string, text: string) => void control.store.texts.set(name, text)

const faults: [what: string, code: string, bend: (control: Control) => void | Promise<void>][] = [
  [
    'a policy that is not ours',
    'unknown_key',
    async (c) => set(c, 'policy-1', await sign(c, {}, { key: makeKey('gateway-policy') })),
  ],
  [
    'a changed byte',
    'bad_signature',
    (c) => set(c, 'policy-1', c.store.texts.get('policy-1')!.replace(/.{10}$/, 'AAAAAAAAAA')),
  ],
  [
    "another gateway's policy",
    'wrong_gateway',
    async (c) => set(c, 'policy-1', await sign(c, { gateway_id: 'gwy_b' })),
  ],
  ["another tenant's policy", 'wrong_tenant', async (c) => set(c, 'policy-1', await sign(c, { tenant_id: 'tnt_b' }))],
  ['an older policy in the place of a newer', 'rollback', (c) => set(c, 'policy-1-1', c.store.texts.get('policy-1')!)],
  ['deltas that are left out', 'rollback', (c) => rewrite(c, 'policy', (head) => ({ ...head, deltas: 0 }))],
  ['a delta that is gone', 'malformed', (c) => void c.store.texts.delete('policy-1-1')],
  [
    'a head of another gateway',
    'wrong_gateway',
    (c) => rewrite(c, 'policy', (head) => ({ ...head, gateway_id: 'gwy_b' })),
  ],
  [
    'a head of another tenant',
    'wrong_tenant',
    (c) => rewrite(c, 'policy', (head) => ({ ...head, tenant_id: 'tnt_b' })),
  ],
  ['a head that can not be read', 'malformed', (c) => set(c, 'policy', '{"')],
  ['a trust set that was altered', 'wrong_digest', (c) => rewrite(c, 'trust', (trust) => ({ ...trust, version: 9 }))],
  [
    'a trust set of another tenant',
    'wrong_tenant',
    async (c) => set(c, 'trust', JSON.stringify(await createIssuer({ tenantId: 'tnt_b' }).trustSet())),
  ],
  ['a trust set that is none', 'malformed', (c) => set(c, 'trust', '[]')],
  ['no trust set', 'trust_expired', (c) => void c.store.texts.delete('trust')],
  [
    'a clock that was set back',
    'not_yet_valid',
    (c) => {
      c.clock.now = new Date(c.clock.now.getTime() - 120_000)
    },
  ],
]

test('what can not be believed is refused by name, and the next pull begins anew', async (t) => {
  for (const [what, code, bend] of faults)
    await t.test(what, async (t) => {
      const control = await startControl(t)
      await runOnce(control)
      await bend(control)
      const again = control.open()
      await assert.rejects(again.restore(), { name: 'VerificationError', code })
      assert.equal(again.state, null)
      control.isAway = false
      control.policies.push({ seq: 5, variants, peers: peers('dev_9') })
      await again.pull()
      assert.deepEqual(held(again), ['dev_9'])
      assert.deepEqual(held(await reopened(control)), ['dev_9'], 'and is kept anew')
      const names = [...control.store.texts.keys()].filter((name) => name.startsWith('policy'))
      assert.equal(names.length, 2, 'what is of no use any more is gone')
    })
})

test('a control plane that is older than what was stored is refused, also where that could not be read', async (t) => {
  const control = await startControl(t)
  await runOnce(control)
  control.store.texts.delete('policy-1-1')
  const again = control.open()
  control.isAway = false
  control.policies.push({ seq: 1, variants, peers: peers('dev_1') })
  await assert.rejects(again.pull(), { name: 'VerificationError', code: 'rollback' })
  assert.equal(again.state, null)
})

test('a store that fails stops nothing; once it works, what it holds is whole again', async (t) => {
  const control = await startControl(t)
  const gateway = await runOnce(control)
  control.isAway = false
  control.store.isBroken = true
  control.policies.push({ kind: 'delta', base_seq: 2, seq: 3, removed_peers: ['dev_2'] })
  await gateway.pull()
  assert.deepEqual(held(gateway), ['dev_3'])
  assert.match(String(control.errors[0]), /disk is full/)
  control.store.isBroken = false
  control.policies.push({ seq: 4, variants, peers: peers('dev_3', 'dev_4') })
  await gateway.pull()
  assert.doesNotMatch(control.searches().at(-1) ?? '', /since/, 'a snapshot, though it knew what came before')
  assert.deepEqual(held(await reopened(control)), ['dev_3', 'dev_4'])
})

test('a report that was not acknowledged is sent by the next process, as it was and before any other', async (t) => {
  const control = await startControl(t)
  const first = control.open()
  const session = first.sessions.start({ device_id: 'dev_1', source_ip: '192.0.2.1' }, { rx_bytes: 100, tx_bytes: 0 })
  first.sessions.count(session.session_id, { rx_bytes: 150, tx_bytes: 7 })
  control.isAway = true
  const stop = new AbortController()
  const lost = first.sessions.report({ signal: stop.signal })
  first.sessions.count(session.session_id, { rx_bytes: 160, tx_bytes: 7 })
  assert.equal(first.sessions.report(), lost, 'one report at a time')
  while (!control.reports()[0]) await new Promise((resolve) => setTimeout(resolve, 5))
  stop.abort()
  await assert.rejects(lost)

  control.isAway = false
  const second = control.open()
  await second.restore()
  assert.deepEqual(second.sessions.running, [session])
  second.sessions.count(session.session_id, { rx_bytes: 200, tx_bytes: 7 })
  second.sessions.end(session.session_id, 'device_gone', { rx_bytes: 5, tx_bytes: 9 })
  assert.deepEqual(second.sessions.running, [])
  assert.throws(() => second.sessions.count(session.session_id, { rx_bytes: 1, tx_bytes: 1 }), TypeError)
  await second.sessions.report()
  await second.sessions.report()
  const [sent, again, next, empty] = control.reports()
  assert.deepEqual(again, sent, 'the same boot and sequence')
  assert.notEqual(next?.boot_id, sent?.boot_id)
  const samples = [sent, next, empty].map((report) => report?.samples)
  const { session_id, device_id, started_at, source_ip } = session
  const same = { session_id, device_id, started_at, source_ip }
  assert.match(session_id, /^vse_0[0-7][0-9a-hjkmnp-tv-z]{24}$/)
  assert.deepEqual(samples, [
    [{ ...same, rx_bytes: 50, tx_bytes: 7, state: 'active' }],
    // 150 to 200, and 5 since the counter was reset.
    [{ ...same, rx_bytes: 55, tx_bytes: 2, state: 'ended', end_reason: 'device_gone' }],
    [],
  ])
  assert.deepEqual((await reopened(control)).sessions.running, [])
})

test('the folder and its files are for their owner alone; names lead nowhere else; the later of two stays', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-store-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'state')
  const store = folderStore(path)
  assert.deepEqual([await store.list(), await store.load('policy')], [[], undefined])
  await Promise.all(['1', '2', '3'].map((text) => store.save('policy', text)))
  assert.equal(await store.load('policy'), '3')
  const modes = [await stat(path), await stat(join(path, 'policy'))].map(({ mode }) => (mode & 0o777).toString(8))
  assert.deepEqual(modes, ['700', '600'])
  await store.save('policy', null)
  assert.deepEqual(await readdir(path), [])
  for (const name of ['../x', 'a/b', '', '.', 'A', 'a.tmp']) {
    assert.throws(() => store.save(name, 'x'), TypeError)
    await assert.rejects(store.load(name), TypeError)
  }
})
