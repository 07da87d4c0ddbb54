import assert from 'node:assert/strict'
import { test } from 'node:test'
import { content, startGatewayControl, variant } from '../../test/support/gateway-control-plane.ts'
import { makeKey, peerOf, poolPart } from '../../test/support/issuer.ts'
import type { Answered } from '../../test/support/scripted-server.ts'
import type { GatewayChange } from '../index.ts'

test('first a snapshot, then deltas on what is held', async (t) => {
  const control = await startGatewayControl(t)
  const gateway = control.open()
  assert.deepEqual((await gateway.pull())?.peers, ['dev_1'])
  assert.equal(await gateway.pull({ wait: 5 }), null)
  control.seq = 2
  control.peers = ['dev_2']
  const change = await gateway.pull()
  assert.equal(change?.kind, 'delta')
  assert.deepEqual([...(gateway.state?.peers.keys() ?? [])], ['dev_1', 'dev_2'])
  const searches = control.asks('unified-policy').map(({ search }) => new URLSearchParams(search))
  assert.deepEqual(
    searches.map((s) => [s.get('since'), s.get('gateway_id'), s.get('tenant_id')]),
    [
      [null, 'gwy_a', 'tnt_a'],
      ['1', 'gwy_a', 'tnt_a'],
      ['1', 'gwy_a', 'tnt_a'],
    ],
  )
})

test('a delta on another base is answered with a fresh snapshot', async (t) => {
  const control = await startGatewayControl(t)
  const gateway = control.open()
  await gateway.pull()
  control.seq = 9
  control.peers = ['dev_3']
  control.policies.push(await control.issuer.gatewayPolicy({ kind: 'delta', base_seq: 7, seq: 9 }))
  const change = await gateway.pull()
  assert.equal(change?.kind, 'snapshot')
  assert.deepEqual([...(gateway.state?.peers.keys() ?? [])], ['dev_3'])
})

test('forged, foreign and old policies leave the state as it was', async (t) => {
  const control = await startGatewayControl(t)
  const { issuer } = control
  control.seq = 5
  const gateway = control.open()
  await gateway.pull()
  const held = gateway.state
  const attacks: [string, Promise<string>][] = [
    ['unknown_key', issuer.gatewayPolicy({ seq: 6 }, { key: makeKey('gateway-policy') })],
    ['unknown_key', issuer.gatewayPolicy({ seq: 6 }, { key: issuer.keys.policy })],
    ['wrong_gateway', issuer.gatewayPolicy({ seq: 6, gateway_id: 'gwy_b' })],
    ['wrong_tenant', issuer.gatewayPolicy({ seq: 6, tenant_id: 'tnt_b' })],
    ['rollback', issuer.gatewayPolicy({ seq: 4 })],
    ['rollback', issuer.gatewayPolicy({ kind: 'delta', base_seq: 5, seq: 4 })],
  ]
  for (const [code, policy] of attacks) {
    control.policies.push(await policy)
    await assert.rejects(gateway.pull(), { name: 'VerificationError', code })
    assert.equal(gateway.state, held)
  }
})

test('what has expired is in force for nobody; a delta on it brings all of it back', async (t) => {
  const control = await startGatewayControl(t)
  const gateway = control.open()
  await gateway.pull()
  const asOf = control.clock.now
  const before = gateway.state
  control.clock.now = new Date((before?.expiresAt.getTime() ?? 0) - 1)
  assert.equal(gateway.state, before)
  control.clock.now = before?.expiresAt ?? asOf
  assert.deepEqual([...(gateway.state?.peers.keys() ?? ['?'])], [])
  control.seq = 2
  control.peers = ['dev_2']
  const change = await gateway.pull({ wait: 20 })
  assert.deepEqual([change?.kind, change?.peers], ['snapshot', ['dev_1', 'dev_2']])
  const last = control.asks('unified-policy').at(-1)
  const search = new URLSearchParams(last?.search)
  assert.deepEqual([search.get('since'), search.get('as_of')], ['1', asOf.toISOString()])
  assert.equal(last?.headers.prefer, undefined, 'it does not wait while nothing is in force')
})

test('a policy that says so is in force beyond its end', async (t) => {
  const control = await startGatewayControl(t)
  const gateway = control.open()
  const open = {
    pool: poolPart({ fail_mode: 'open' }),
    variants: { [variant]: content },
    peers: [peerOf('dev_1', variant)],
  }
  control.policies.push(await control.issuer.gatewayPolicy(open))
  await gateway.pull()
  control.clock.now = new Date(control.clock.now.getTime() + 60 * 60_000)
  assert.deepEqual([...(gateway.state?.peers.keys() ?? [])], ['dev_1'])
})

test('pulling tells each change', { timeout: 20_000 }, async (t) => {
  const control = await startGatewayControl(t)
  const abort = new AbortController()
  const seen: GatewayChange[] = []
  await control.open().runPulling({
    signal: abort.signal,
    onChange: (change) => {
      seen.push(change)
      control.seq++
      if (seen.length === 3) abort.abort()
    },
  })
  assert.deepEqual(
    seen.map(({ kind, seq }) => [kind, seq]),
    [
      ['snapshot', 1],
      ['delta', 2],
      ['delta', 3],
    ],
  )
})

test('a control plane that is away, and one that refuses, end nothing: each is said, and what comes after it', {
  timeout: 20_000,
}, async (t) => {
  const control = await startGatewayControl(t)
  const stop = new AbortController()
  let asked = 0
  const seen: unknown[] = []
  const answers: Answered[] = ['hang up', { status: 401, body: { error: 'unauthorized', detail: 'no' } }]
  control.instead = () => answers.shift()
  await control
    .open(() => {
      asked++
      return 'hfg_x'
    })
    .runPulling({
      signal: stop.signal,
      onStatus: ({ status, since, error }) => {
        seen.push([status, error instanceof Error ? error.name : undefined])
        assert.ok(since instanceof Date)
        if (status === 'connected') stop.abort()
        throw new Error('what a watcher does is its own')
      },
      onChange: () => {},
    })
  assert.deepEqual(seen, [
    ['unreachable', 'ConnectionError'],
    ['refused', 'ApiError'],
    ['connected', undefined],
  ])
  assert.ok(asked >= 3, 'a secret that was replaced is read before each request')
})

test('a heartbeat says what is enforced, and what keeps it from enforcing what came after', {
  timeout: 20_000,
}, async (t) => {
  const control = await startGatewayControl(t)
  const gateway = control.open()
  const beat = async () => {
    assert.equal((await gateway.heartbeat({ active_sessions: 3 })).status, 'healthy')
    const { applied, apply_error, ...rest } = control.asks('heartbeat').at(-1)!.body as Record<string, unknown>
    assert.deepEqual(rest, { active_sessions: 3, boot_id: gateway.bootId, sent_at: '2030-01-01T00:00:00.000Z' })
    return [applied, apply_error]
  }
  await gateway.pull()
  assert.deepEqual(await beat(), [{ trust_version: 1 }, undefined])
  gateway.confirm()
  assert.deepEqual(await beat(), [{ policy_seq: 1, trust_version: 1 }, null])

  const stop = new AbortController()
  const failures: Error[] = [
    Object.assign(new Error(`nft is not there${'!'.repeat(600)}`), { code: 'ENOENT' }),
    Object.assign(new Error('\ud800 \0'), { code: 'not a word' }),
  ]
  const said: unknown[] = []
  control.seq = 2
  await gateway.runPulling({
    signal: stop.signal,
    onChange: async (_, { seq }) => {
      // The state of the first pull is passed first.
      if (seq === 1) return
      const failure = failures.shift()
      if (!failure) return stop.abort()
      setImmediate(async () => said.push(await beat()))
      throw failure
    },
  })
  const applied = { policy_seq: 1, trust_version: 1 }
  assert.deepEqual(said, [
    [applied, { code: 'enoent', detail: `nft is not there${'!'.repeat(600)}`.slice(0, 512) }],
    [applied, { code: 'apply_failed', detail: '\ufffd \ufffd' }],
  ])
  assert.deepEqual(await beat(), [{ policy_seq: 2, trust_version: 1 }, null])
})

const sample = { session_id: 'vse_1', device_id: 'dev_1', state: 'active', rx_bytes: 1, tx_bytes: 2 } as const

test('a report is sent under one sequence until it is acknowledged; the next waits for it', {
  timeout: 20_000,
}, async (t) => {
  const control = await startGatewayControl(t)
  control.metering = ['hang up', { status: 503, body: { error: 'internal_error', detail: 'x' } }]
  const gateway = control.open()
  await Promise.all([gateway.meter([sample]), gateway.meter([sample, sample])])
  const reports = control
    .asks('metering')
    .map(({ body }) => body as { sequence: number; report_id: string; boot_id: string; sent_at: string })
  assert.deepEqual(
    reports.map(({ sequence }) => sequence),
    [1, 1, 1, 2],
  )
  assert.equal(new Set(reports.map(({ report_id }) => report_id)).size, 2)
  const sent = reports.map((r) => [r.boot_id, r.sent_at])
  assert.deepEqual(sent, Array(4).fill([gateway.bootId, '2030-01-01T00:00:00.000Z']))
})

test('a server of an earlier version, which refuses what it does not know, gets reports without it', async (t) => {
  const control = await startGatewayControl(t)
  control.unknown = ['sent_at', 'certificate_expires_at']
  const gateway = control.open()
  const certificate_expires_at = '2031-01-01T00:00:00Z'
  assert.equal((await gateway.heartbeat({ active_sessions: 1, certificate_expires_at })).status, 'healthy')
  assert.equal((await gateway.meter([sample])).accepted, 1)
  const taken = [control.asks('heartbeat').at(-1), control.asks('metering').at(-1)]
  for (const ask of taken) assert.ok(!Object.hasOwn(ask?.body as object, 'sent_at'))
  assert.equal((control.asks('metering').at(-1)!.body as { sequence: number }).sequence, 1)

  control.unknown = []
  await gateway.heartbeat({ active_sessions: 1, certificate_expires_at })
  const { sent_at, ...beat } = control.asks('heartbeat').at(-1)!.body as Record<string, unknown>
  assert.deepEqual([sent_at, beat.certificate_expires_at], ['2030-01-01T00:00:00.000Z', certificate_expires_at])

  control.unknown = ['certificate_expires_at']
  await assert.rejects(gateway.heartbeat({ active_sessions: 1, certificate_expires_at }), { status: 422 })
})

test('a report that the server refuses is thrown, and the next one goes', async (t) => {
  const control = await startGatewayControl(t)
  control.metering = [{ status: 422, body: { error: 'validation_error', detail: 'no' } }]
  const gateway = control.open()
  const results = await Promise.allSettled([gateway.meter([sample]), gateway.meter([sample])])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  )
})

test('more samples than a report holds go in several', async (t) => {
  const control = await startGatewayControl(t)
  control.metering = [
    { body: { accepted: 10_000, duplicate: 0, rejected: [], unknown_resources: ['wiki'] } },
    {
      body: {
        accepted: 4,
        duplicate: 0,
        rejected: [{ index: 0, error: 'unknown device' }],
        unknown_resources: ['git', 'wiki'],
      },
    },
  ]
  const { accepted, rejected, unknown_resources } = await control
    .open()
    .meter(Array.from({ length: 10_005 }, () => sample))
  assert.equal(accepted, 10_004)
  assert.deepEqual(rejected, [{ index: 10_000, error: 'unknown device' }])
  assert.deepEqual(unknown_resources, ['git', 'wiki'])
})
