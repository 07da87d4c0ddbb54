import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentFor, createIssuer, digestOf } from '../../test/support/issuer.ts'
import { type Answered, startServer } from '../../test/support/scripted-server.ts'
import { type GatewayChange, openGateway } from '../index.ts'

const [a, b] = [contentFor('a'), contentFor('b')]
const peer = (id: string, variant = digestOf(a), valid_until: string | null = null) => ({
  addresses: ['100.64.0.1/32'],
  device_id: id,
  user_id: null,
  valid_until,
  variant,
  mfa_at: null,
  wireguard_keys: [] as { key: string; not_after: string | null }[],
})

async function startControl(t: Parameters<typeof startServer>[0]) {
  const clock = { now: new Date('2030-01-01T00:00:00Z') }
  const issuer = createIssuer({ now: () => clock.now })
  const trust = await issuer.trustSet()
  const control = { clock, issuer, policies: [] as object[], chunks: new Map<string, Answered>() }
  const server = await startServer(t, async ({ path }): Promise<Answered> => {
    if (path.endsWith('/trust-anchors')) return { body: trust }
    const [, digest] = path.split('/chunks/')
    if (digest !== undefined)
      return (
        control.chunks.get(decodeURIComponent(digest)) ?? { status: 404, body: { error: 'not_found', detail: 'gone' } }
      )
    const next = control.policies.shift()
    if (!next) return { status: 304 }
    return { body: { kind: '', seq: 0, base_seq: null, policy: await issuer.gatewayPolicy(next), poll_seconds: 1 } }
  })
  const gateway = openGateway({
    baseUrl: server.baseUrl,
    secret: 'hfg_x',
    gatewayId: 'gwy_a',
    tenantId: issuer.tenantId,
    now: () => clock.now,
    random: () => 0,
  })
  const fetched = () => server.asked.filter(({ path }) => path.includes('/chunks/')).length
  const chunk = (...peers: object[]) => {
    const digest = digestOf({ peers })
    control.chunks.set(digest, { body: { peers } })
    return { digest, bytes: 1 }
  }
  return Object.assign(control, { gateway, fetched, chunk })
}
const held = (gateway: { state: { peers: Map<string, unknown> } | null }) => [...(gateway.state?.peers.keys() ?? [])]
const variants = { [digestOf(a)]: a }

test('a peer goes to the second at which its time comes, without a word from anyone', async (t) => {
  const { clock, gateway, policies } = await startControl(t)
  const end = new Date(clock.now.getTime() + 60_000)
  policies.push({ variants, peers: [peer('dev_1', digestOf(a), end.toISOString()), peer('dev_2')] })
  await gateway.pull()
  clock.now = new Date(end.getTime() - 1)
  assert.deepEqual(held(gateway), ['dev_1', 'dev_2'])
  clock.now = end
  assert.deepEqual(held(gateway), ['dev_2'])
})

test('a peer that is named anew before its end stays; one named after it comes back', async (t) => {
  const { clock, gateway, policies } = await startControl(t)
  const at = (s: number) => new Date(Date.parse('2030-01-01T00:00:00Z') + s * 1000)
  const until = (id: string, s: number) => peer(id, digestOf(a), at(s).toISOString())
  policies.push({ variants, peers: [until('dev_1', 60), until('dev_2', 60)] })
  await gateway.pull()
  policies.push({ kind: 'delta', base_seq: 1, seq: 2, peers: [until('dev_1', 120)] })
  await gateway.pull()
  clock.now = at(60)
  assert.deepEqual(held(gateway), ['dev_1'])
  policies.push({ kind: 'delta', base_seq: 2, seq: 2, variants, peers: [until('dev_2', 180)] })
  assert.deepEqual((await gateway.pull())?.peers, ['dev_2'])
  clock.now = at(120)
  assert.deepEqual(held(gateway), ['dev_2'])
})

test('while pulling runs, an end is told as a change of its own', { timeout: 20_000 }, async (t) => {
  const { clock, gateway, policies } = await startControl(t)
  const end = new Date(clock.now.getTime() + 200)
  policies.push({ variants, peers: [peer('dev_1', digestOf(a), end.toISOString())] })
  const stop = new AbortController()
  const seen: GatewayChange[] = []
  await gateway.runPulling({
    signal: stop.signal,
    onChange: (change) => {
      seen.push(change)
      clock.now = end
      if (change.kind === 'ended') stop.abort()
    },
  })
  assert.deepEqual(
    seen.map(({ kind, removedPeers }) => [kind, removedPeers]),
    [
      ['snapshot', []],
      ['ended', ['dev_1']],
    ],
  )
})

test('while pulling runs, the end of a key that was replaced is told, and the peer stays', {
  timeout: 20_000,
}, async (t) => {
  const { clock, gateway, policies } = await startControl(t)
  const end = new Date(clock.now.getTime() + 200)
  const wireguard_keys = [
    { key: 'new', not_after: null },
    { key: 'old', not_after: end.toISOString() },
  ]
  policies.push({ variants, peers: [{ ...peer('dev_1'), wireguard_keys }, peer('dev_2')] })
  const stop = new AbortController()
  const seen: unknown[] = []
  await gateway.runPulling({
    signal: stop.signal,
    onChange: ({ kind, peers, removedPeers }, state) => {
      seen.push([kind, peers, removedPeers, state.peers.get('dev_1')?.wireguard_keys.map((k) => k.key)])
      clock.now = end
      if (kind === 'ended') stop.abort()
    },
  })
  assert.deepEqual(seen, [
    ['snapshot', ['dev_1', 'dev_2'], [], ['new', 'old']],
    ['ended', ['dev_1'], [], ['new']],
  ])
})

test('a change that could not be applied is handed over again, as all that there is, until it is', {
  timeout: 20_000,
}, async (t) => {
  const { gateway, policies } = await startControl(t)
  policies.push({ variants, peers: [peer('dev_1'), peer('dev_2')] })
  const stop = new AbortController()
  const seen: GatewayChange[] = []
  const errors: unknown[] = []
  await gateway.runPulling({
    signal: stop.signal,
    onError: (e) => {
      errors.push(e)
      throw new Error('what a watcher does is its own')
    },
    onChange: (change, state) => {
      seen.push(change)
      assert.deepEqual([...state.peers.keys()], change.peers)
      if (seen.length === 1) throw new Error('nft refused')
      if (seen.length === 2) {
        policies.push({ kind: 'delta', base_seq: 1, seq: 2, removed_peers: ['dev_1'] })
        throw new Error('nft refused again')
      }
      stop.abort()
    },
  })
  assert.deepEqual(errors.map(String), ['Error: nft refused', 'Error: nft refused again'])
  assert.deepEqual(
    seen.map(({ kind, seq, peers }) => [kind, seq, peers]),
    [
      ['snapshot', 1, ['dev_1', 'dev_2']],
      ['snapshot', 1, ['dev_1', 'dev_2']],
      ['snapshot', 2, ['dev_2']],
    ],
  )
})

test('while pulling runs, the end of the policy itself is told, and its return', { timeout: 20_000 }, async (t) => {
  const { clock, gateway, policies } = await startControl(t)
  const end = new Date(clock.now.getTime() + 60_000)
  policies.push({ variants, peers: [peer('dev_1'), peer('dev_2')], expires_at: end.toISOString() })
  const stop = new AbortController()
  const seen: GatewayChange[] = []
  await gateway.runPulling({
    signal: stop.signal,
    onChange: (change, state) => {
      seen.push(change)
      clock.now = end
      if (change.kind === 'expired') {
        assert.deepEqual([state.peers.size, state.variants.size], [0, 0])
        policies.push({ kind: 'delta', base_seq: 1, seq: 2, removed_peers: ['dev_1'] })
      }
      if (seen.length === 3) stop.abort()
    },
  })
  assert.deepEqual(
    seen.map(({ kind, peers, removedPeers }) => [kind, peers, removedPeers]),
    [
      ['snapshot', ['dev_1', 'dev_2'], []],
      ['expired', [], ['dev_1', 'dev_2']],
      ['snapshot', ['dev_2'], []],
    ],
  )
})

test('a variant that moved takes its peers along, but not those that are named', async (t) => {
  const { gateway, policies } = await startControl(t)
  const both = { ...variants, [digestOf(b)]: b }
  policies.push({
    variants: both,
    peers: ['dev_1', 'dev_2', 'dev_3'].map((id) => peer(id)).concat(peer('dev_4', digestOf(b))),
  })
  await gateway.pull()
  const moved = [
    { from: digestOf(a), to: digestOf(b) },
    { from: digestOf(b), to: digestOf(a) },
  ]
  policies.push({
    kind: 'delta',
    base_seq: 1,
    seq: 2,
    moved,
    variants: both,
    peers: [peer('dev_2')],
    removed_peers: ['dev_3'],
  })
  assert.deepEqual((await gateway.pull())?.moved, moved)
  const now = [...(gateway.state?.peers.values() ?? [])].map((p) => [p.device_id, p.variant])
  assert.deepEqual(now, [
    ['dev_1', digestOf(b)],
    ['dev_2', digestOf(a)],
    ['dev_4', digestOf(a)],
  ])
  policies.push(
    { kind: 'delta', base_seq: 2, seq: 3, moved: [{ from: digestOf(a), to: 'sha256:x' }] },
    { seq: 3, variants, peers: [peer('dev_9')] },
  )
  await gateway.pull()
  assert.deepEqual(held(gateway), ['dev_9'], 'a move to a variant that is missing is replaced by a snapshot')
})

test('a variant that is said as a change of another one is what its digest says, or a snapshot replaces it', async (t) => {
  const { gateway, policies } = await startControl(t)
  const c = { ...a, rules: b.rules }
  const patches = [[{ op: 'replace', path: '/rules', value: b.rules }]]
  const move = (from: object, to: object) => ({
    moved: [{ from: digestOf(from), to: digestOf(to), patch: 0 }],
    patches,
  })
  policies.push(
    { variants, peers: [peer('dev_1')] },
    { kind: 'delta', base_seq: 1, seq: 2, ...move(a, c) },
    { kind: 'delta', base_seq: 2, seq: 3, ...move(a, b) },
    { kind: 'delta', base_seq: 3, seq: 4, ...move(c, a) },
    { seq: 4, variants, peers: [peer('dev_9')] },
  )
  await gateway.pull()
  assert.deepEqual((await gateway.pull())?.moved, [{ from: digestOf(a), to: digestOf(c) }])
  assert.deepEqual([...gateway.state!.variants], [[digestOf(c), c]])
  assert.equal(gateway.state?.peers.get('dev_1')?.variant, digestOf(c))
  await gateway.pull()
  assert.deepEqual([held(gateway), gateway.state?.seq], [['dev_1'], 3], 'nobody is under what moved')
  await gateway.pull()
  assert.deepEqual(held(gateway), ['dev_9'], 'a change that makes something else of it')
})

test('chunks are fetched, verified, and fetched again only when they changed', async (t) => {
  const { gateway, policies, chunk, fetched } = await startControl(t)
  const [one, two, three] = [chunk(peer('dev_1')), chunk(peer('dev_2')), chunk(peer('dev_3'))]
  policies.push({ variants, chunks: [one, two] })
  await gateway.pull()
  assert.deepEqual(held(gateway).sort(), ['dev_1', 'dev_2'])
  policies.push({ seq: 2, variants, chunks: [one, three] })
  const change = await gateway.pull()
  assert.deepEqual([change?.removedPeers, held(gateway).sort(), fetched()], [['dev_2'], ['dev_1', 'dev_3'], 3])
})

test('a chunk that is not what its digest says leaves the state as it was', async (t) => {
  const { gateway, policies, chunk, chunks } = await startControl(t)
  policies.push({ variants, peers: [peer('dev_1')] })
  await gateway.pull()
  const forged = chunk(peer('dev_2'))
  chunks.set(forged.digest, { body: { peers: [peer('dev_evil')] } })
  policies.push({ seq: 2, variants, chunks: [forged] })
  await assert.rejects(gateway.pull(), { name: 'VerificationError', code: 'wrong_digest' })
  assert.deepEqual([held(gateway), gateway.state?.seq], [['dev_1'], 1])
})

test('a chunk that the server has let go of leads to a new snapshot', async (t) => {
  const { gateway, policies, chunk } = await startControl(t)
  const kept = chunk(peer('dev_1'))
  policies.push({ variants, chunks: [kept, { digest: 'sha256:gone', bytes: 1 }] }, { seq: 2, variants, chunks: [kept] })
  await gateway.pull()
  assert.deepEqual([held(gateway), gateway.state?.seq], [['dev_1'], 2])
})
