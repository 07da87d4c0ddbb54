import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contentFor, createIssuer, digestOf, makeKey, peerOf, poolPart } from '../../test/support/issuer.ts'
import { pinTrust } from '../verify/trust-store.ts'
import { applyPolicy, type GatewayState, isBlocked } from './state.ts'
import { verifyGatewayPolicy } from './verifier.ts'

const now = new Date('2030-01-01T00:00:00Z')
const issuer = createIssuer({ now: () => now })
const { tenantId } = issuer
const trust = pinTrust(await issuer.trustSet(), { tenantId, now })
const judge = { trust, tenantId, gatewayId: 'gwy_a', now }
const refuses = (code: string) => ({ name: 'VerificationError', code })

type Options = Parameters<typeof issuer.gatewayPolicy>[1]
const read = async (overrides: object, options: Options = {}) =>
  verifyGatewayPolicy(await issuer.gatewayPolicy(overrides, options), judge)
const a = contentFor('a')
const b = contentFor('b')
const variants = (...contents: object[]) => Object.fromEntries(contents.map((c) => [digestOf(c), c]))
const snapshot = { variants: variants(a), peers: [peerOf('dev_1', digestOf(a)), peerOf('dev_2', digestOf(a))], seq: 5 }
const delta = (overrides: object) => ({ kind: 'delta', base_seq: 5, seq: 6, ...overrides })
const stateOf = async () => applyPolicy(null, await read(snapshot)).state

test('what is not for this gateway, or not signed by its policy key, is refused', async () => {
  await assert.rejects(read({ gateway_id: 'gwy_b' }), refuses('wrong_gateway'))
  await assert.rejects(read({ tenant_id: 'tnt_b' }), refuses('wrong_tenant'))
  await assert.rejects(read({ expires_at: now.toISOString() }), refuses('expired'))
  await assert.rejects(read({ schema: 'holdfast.gateway-policy/2' }), refuses('malformed'))
  await assert.rejects(read({ kind: 'patch' }), refuses('malformed'))
  await assert.rejects(read({ variants: { [digestOf(a)]: b } }), refuses('wrong_digest'))
  await assert.rejects(read({}, { typ: 'policy-bundle+jws' }), refuses('wrong_type'))
  await assert.rejects(read({}, { key: issuer.keys.policy }), refuses('unknown_key'))
  await assert.rejects(read({}, { key: makeKey('gateway-policy') }), refuses('unknown_key'))
})

test('any changed byte is refused', async () => {
  const jws = await issuer.gatewayPolicy(snapshot)
  fc.assert(
    fc.property(fc.nat(jws.length - 1), fc.nat(6), (at, bit) => {
      const bytes = Buffer.from(jws, 'latin1')
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
      assert.throws(() => verifyGatewayPolicy(bytes.toString('latin1'), judge), { name: 'VerificationError' })
    }),
    { numRuns: 400 },
  )
})

test('a fail mode that is not clearly open is closed', async () => {
  for (const fail_mode of ['closed', undefined, 'OPEN', true])
    assert.equal((await read({ pool: poolPart({ fail_mode }) })).pool.fail_mode, 'closed')
  assert.equal((await read({ pool: poolPart({ fail_mode: 'open' }) })).pool.fail_mode, 'open')
})

test('a delta on another base is refused and changes nothing', async () => {
  const state = await stateOf()
  for (const base_seq of [4, 6]) {
    const wrong = await read(delta({ base_seq, seq: 7, removed_peers: ['dev_1'] }))
    assert.throws(() => applyPolicy(state, wrong), refuses('wrong_base'))
  }
  const early = await read(delta({}))
  assert.throws(() => applyPolicy(null, early), refuses('wrong_base'))
  assert.deepEqual([...state.peers.keys()], ['dev_1', 'dev_2'])
})

test('an older seq is refused', async () => {
  const state = await stateOf()
  const older = await read({ ...snapshot, seq: 4 })
  assert.throws(() => applyPolicy(state, older), refuses('rollback'))
})

test('a peer without its variant refuses the whole delta', async () => {
  const state = await stateOf()
  const broken = await read(delta({ removed_peers: ['dev_1'], peers: [peerOf('dev_3', digestOf(b))] }))
  assert.throws(() => applyPolicy(state, broken), refuses('malformed'))
  assert.deepEqual([...state.peers.keys()], ['dev_1', 'dev_2'])
})

test('a delta adds, moves, removes and revokes, and drops variants that nobody uses', async () => {
  const policy = await read(
    delta({
      variants: variants(b),
      peers: [peerOf('dev_2', digestOf(b)), peerOf('dev_3', digestOf(b))],
      revocations: {
        devices: ['dev_1'],
        sessions: [
          { session_id: 'vse_8', device_id: 'dev_2', block_until: null },
          { session_id: 'vse_9', device_id: 'dev_3', block_until: '2030-01-01T00:05:00Z' },
        ],
      },
    }),
  )
  const { state, change } = applyPolicy(await stateOf(), policy)
  assert.deepEqual([...state.peers.keys()], ['dev_2', 'dev_3'])
  assert.deepEqual([...state.variants.keys()], [digestOf(b)])
  assert.deepEqual([...state.revokedDevices], ['dev_1'])
  assert.deepEqual([...state.revokedSessions.keys()], ['vse_8', 'vse_9'])
  assert.deepEqual(change.revokedSessions, ['vse_8', 'vse_9'])
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000)
  assert.deepEqual(
    [isBlocked(state, 'dev_2', now), isBlocked(state, 'dev_3', after(299)), isBlocked(state, 'dev_3', after(300))],
    [false, true, false],
  )
  assert.deepEqual(change.peers, ['dev_2', 'dev_3'])
  assert.deepEqual(change.revokedDevices, ['dev_1'])

  const lifted = delta({ base_seq: 6, seq: 7, variants: variants(a), peers: [peerOf('dev_1', digestOf(a))] })
  assert.deepEqual([...applyPolicy(state, await read(lifted)).state.revokedDevices], [])
})

test('a device that is revoked and named as a peer at once is revoked', async () => {
  const both = await read({ ...snapshot, revocations: { devices: ['dev_1'], sessions: [] } })
  const { state } = applyPolicy(null, both)
  assert.deepEqual([...state.peers.keys()], ['dev_2'])
  assert.deepEqual([...state.revokedDevices], ['dev_1'])
})

test('a snapshot replaces all, and says who went', async () => {
  const { state, change } = applyPolicy(
    await stateOf(),
    await read({ seq: 8, variants: variants(b), peers: [peerOf('dev_2', digestOf(b))] }),
  )
  assert.deepEqual([...state.peers.keys()], ['dev_2'])
  assert.deepEqual(change.removedPeers, ['dev_1'])
})

test('a chain of deltas arrives where a snapshot of the same fleet does', async () => {
  const contents = [a, b, contentFor('c')]
  const step = fc.array(
    fc.record({ id: fc.integer({ min: 0, max: 7 }), to: fc.option(fc.integer({ min: 0, max: 2 })) }),
    { maxLength: 5 },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const fleet = new Map<string, string>()
      let state: GatewayState = applyPolicy(null, await read({ seq: 0 })).state
      for (const [index, changes] of steps.entries()) {
        const touched = new Map(changes.map(({ id, to }) => [`dev_${id}`, to === null ? undefined : contents[to]!]))
        for (const [id, content] of touched) content ? fleet.set(id, digestOf(content)) : fleet.delete(id)
        const named = [...touched].flatMap(([id, content]) => (content ? [{ id, content }] : []))
        const policy = await read({
          kind: 'delta',
          base_seq: index,
          seq: index + 1,
          variants: variants(...named.map(({ content }) => content)),
          peers: named.map(({ id, content }) => peerOf(id, digestOf(content))),
          removed_peers: [...touched].flatMap(([id, content]) => (content ? [] : [id])),
        })
        state = applyPolicy(state, policy).state
      }
      const expected = [...fleet].map(([id, digest]) => peerOf(id, digest))
      assert.deepEqual(
        [...state.peers.values()].sort((x, y) => x.device_id.localeCompare(y.device_id)),
        expected.sort((x, y) => x.device_id.localeCompare(y.device_id)),
      )
      assert.deepEqual(new Set(state.variants.keys()), new Set(fleet.values()))
    }),
    { numRuns: 40 },
  )
})
