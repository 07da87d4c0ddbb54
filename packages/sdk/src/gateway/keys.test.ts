import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contentFor, createIssuer, digestOf, peerOf } from '../../test/support/issuer.ts'
import { pinTrust } from '../verify/trust-store.ts'
import { createTunnelKeys } from './keys.ts'
import { applyPolicy, dropEnded, type GatewayState } from './state.ts'
import { verifyGatewayPolicy } from './verifier.ts'

const start = new Date('2030-01-01T00:00:00Z')
const issuer = createIssuer({ now: () => start })
const { tenantId } = issuer
const trust = pinTrust(await issuer.trustSet(), { tenantId, now: start })
const content = contentFor('a')
const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)
type Keys = { key: string; not_after: string | null }[]

/** Returns the state after a snapshot of one peer with these keys, or after a delta that names it again. */
async function told(keys: Keys, held: GatewayState | null = null): Promise<GatewayState> {
  const seq = (held?.seq ?? 0) + 1
  const jws = await issuer.gatewayPolicy({
    ...(held ? { kind: 'delta', base_seq: held.seq } : {}),
    seq,
    variants: { [digestOf(content)]: content },
    peers: [{ ...peerOf('dev_1', digestOf(content)), wireguard_keys: keys }],
  })
  return applyPolicy(held, verifyGatewayPolicy(jws, { trust, tenantId, gatewayId: 'gwy_a', now: start })).state
}
const current = (key: string) => ({ key, not_after: null })
const ending = (key: string, seconds: number) => ({ key, not_after: after(seconds).toISOString() })

test('the addresses move at the first handshake with the newer key, and not back', async () => {
  let state = await told([current('k1')])
  const keys = createTunnelKeys(() => state)
  assert.equal(keys.noteHandshake('dev_1', 'k1'), null)
  state = await told([current('k2'), ending('k1', 60)], state)
  assert.equal(keys.carrierOf('dev_1'), 'k1')
  assert.equal(keys.noteHandshake('dev_1', 'k1'), null)
  assert.equal(keys.noteHandshake('dev_1', 'k9'), null, 'a key that is none of its own')
  assert.equal(keys.noteHandshake('dev_2', 'k2'), null, 'nobody')
  assert.deepEqual(keys.noteHandshake('dev_1', 'k2'), {
    device_id: 'dev_1',
    from: 'k1',
    to: 'k2',
    addresses: ['100.64.0.1/32'],
  })
  assert.equal(keys.noteHandshake('dev_1', 'k2'), null, 'once')
  assert.equal(keys.noteHandshake('dev_1', 'k1'), null, 'an old key that is played again')
  assert.equal(keys.carrierOf('dev_1'), 'k2')
  state = await told([current('k3'), ending('k2', 60)], state)
  assert.equal(keys.carrierOf('dev_1'), 'k2')
  assert.equal(keys.noteHandshake('dev_1', 'k3')?.from, 'k2')
})

test('the next process knows where the addresses are, as far as the keys are still signed for', async () => {
  const texts = new Map<string, string>()
  const store = {
    load: async (name: string) => texts.get(name),
    save: async (name: string, text: string | null) => void texts.set(name, text ?? ''),
    list: async () => [...texts.keys()],
  }
  let state = await told([current('k1')])
  state = await told([current('k2'), ending('k1', 60)], state)
  const open = () => createTunnelKeys(() => state, { store })
  const before = open()
  await before.restore()
  before.noteHandshake('dev_1', 'k2')
  const after = open()
  assert.equal(after.carrierOf('dev_1'), 'k1')
  await after.restore()
  assert.equal(after.carrierOf('dev_1'), 'k2')
  assert.equal(after.noteHandshake('dev_1', 'k1'), null, 'an old key does not get them back')
  for (const [stored, carrier] of [
    ['k9', 'k1'],
    [7, 'k1'],
  ]) {
    texts.set('tunnel-keys', JSON.stringify({ schema: 'holdfast.gateway-tunnel-keys/1', taken: [['dev_1', stored]] }))
    const strange = open()
    await strange.restore()
    assert.equal(strange.carrierOf('dev_1'), carrier)
  }
  for (const broken of ['{', '{}', '{"schema":"holdfast.gateway-tunnel-keys/1"}']) {
    texts.set('tunnel-keys', broken)
    await assert.rejects(open().restore())
  }
})

test('at its end the old key goes, the peer stays, and the addresses are at the new one', async () => {
  const state = await told([current('k2'), ending('k1', 60)])
  const keys = createTunnelKeys(() => state)
  assert.deepEqual(dropEnded(state, after(59.999)), { ended: [], rekeyed: [] })
  assert.equal(keys.carrierOf('dev_1'), 'k1')
  assert.deepEqual(dropEnded(state, after(60)), { ended: [], rekeyed: ['dev_1'] })
  assert.deepEqual(state.peers.get('dev_1')?.wireguard_keys, [current('k2')])
  assert.equal(keys.carrierOf('dev_1'), 'k2')
  assert.equal(keys.noteHandshake('dev_1', 'k1'), null)
  assert.equal(state.nextEnd, Number.POSITIVE_INFINITY)
})

test('whatever is renewed, ends and shakes hands: the addresses are at one valid key, and never go back to an older one', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('renew' as const) }),
    fc.record({ do: fc.constant('handshake' as const), key: fc.nat(8) }),
    fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 50 }) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      let state = await told([current('k0')])
      const keys = createTunnelKeys(() => state)
      let [newest, elapsed, carrier] = [0, 0, 0]
      for (const s of steps) {
        if (s.do === 'pass') elapsed += s.seconds
        if (s.do === 'renew') {
          state = await told([current(`k${newest + 1}`), ending(`k${newest}`, elapsed + 60)], state)
          newest++
        }
        dropEnded(state, after(elapsed))
        const valid = state.peers.get('dev_1')?.wireguard_keys.map((k) => k.key) ?? []
        if (s.do === 'handshake') {
          const before = keys.carrierOf('dev_1')
          const move = keys.noteHandshake('dev_1', `k${s.key}`)
          assert.equal(move !== null, valid.includes(`k${s.key}`) && `k${s.key}` !== before && s.key === newest)
        }
        const now = keys.carrierOf('dev_1') ?? ''
        assert.ok(valid.includes(now))
        assert.ok(Number(now.slice(1)) >= carrier)
        carrier = Number(now.slice(1))
      }
    }),
    { numRuns: 150 },
  )
})
