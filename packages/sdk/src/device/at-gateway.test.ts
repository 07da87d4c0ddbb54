import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { contentFor, createIssuer, digestOf, makeKey, peerOf } from '../../test/support/issuer.ts'
import { applyPolicy, type GatewayState } from '../gateway/state.ts'
import { verifyGatewayPolicy } from '../gateway/verifier.ts'
import { createProofMemory, verifyDeviceAtGateway } from '../index.ts'
import { pinTrust } from '../verify/trust-store.ts'
import { sessionTarget } from './at-gateway.ts'

const start = new Date('2030-01-01T00:00:00Z')
const clock = { now: start }
const issuer = createIssuer({ now: () => start })
const { tenantId } = issuer
const trust = pinTrust(await issuer.trustSet(), { tenantId, now: start })
const device = generateKey('ES256')
const content = contentFor('a')
const stateOf = async (policy: object): Promise<GatewayState> => {
  const jws = await issuer.gatewayPolicy({ variants: { [digestOf(content)]: content }, ...policy })
  return applyPolicy(null, verifyGatewayPolicy(jws, { trust, tenantId, gatewayId: 'gwy_a', now: start })).state
}
const peer = peerOf('dev_1', digestOf(content))
const state = await stateOf({ peers: [peer] })
const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)

type Shown = {
  credential?: string
  proof?: string
  state?: GatewayState | null
  now?: Date
  gatewayId?: string
  tenantId?: string
}
const proofs = createProofMemory()
const good = await issuer.credential(device.kid)
const prove = (credential = good, more: Partial<Parameters<typeof createProof>[1]> = {}, key = device.privateJwk) =>
  createProof(key, { ...sessionTarget('gwy_a'), accessToken: credential, now: clock.now, ...more })
const judge = ({ credential = good, proof, ...more }: Shown = {}) =>
  verifyDeviceAtGateway(credential, proof ?? prove(credential), {
    trust,
    state,
    tenantId,
    gatewayId: 'gwy_a',
    issuer: 'https://control.example',
    proofs,
    now: start,
    ...more,
  })

test('a device with its credential and its key is let in, until either ends', async () => {
  assert.deepEqual(judge(), { deviceId: 'dev_1', userId: null, peer, until: after(3600) })
  const short = await stateOf({ peers: [{ ...peer, valid_until: after(60).toISOString() }] })
  const credential = await issuer.credential(device.kid, { uid: 'usr_1' })
  const { userId, until } = judge({ credential, state: short })
  assert.deepEqual([userId, until], ['usr_1', after(60)])
})

const blocked = await stateOf({
  peers: [peer],
  revocations: {
    devices: [],
    sessions: [{ session_id: 'vse_1', device_id: 'dev_1', block_until: after(30).toISOString() }],
  },
})
const used = prove()
judge({ proof: used })
const bent = (jws: string) => `${jws.slice(0, -8)}AAAAAAAA`
const of = (claims: object, options?: Parameters<typeof issuer.credential>[2]) =>
  issuer.credential(device.kid, claims, options)
const at = (date: Date) => Math.floor(date.getTime() / 1000)
const refusals: [what: string, code: string, shown: () => Shown | Promise<Shown>][] = [
  ['no policy', 'no_policy', () => ({ state: null })],
  ['a policy that has ended', 'no_policy', () => ({ now: state.expiresAt })],
  ['what is no credential', 'malformed', () => ({ credential: 'hfk_x' })],
  [
    'something else that we signed',
    'wrong_type',
    async () => ({ credential: await of({}, { typ: 'policy-pointer+jwt' }) }),
  ],
  ['a changed credential', 'bad_signature', () => ({ credential: bent(good) })],
  [
    'a key that is not in the trust set',
    'unknown_key',
    async () => ({ credential: await of({}, { key: makeKey('credential') }) }),
  ],
  ['a key of another purpose', 'unknown_key', async () => ({ credential: await of({}, { key: issuer.keys.policy }) })],
  ['another issuer', 'wrong_issuer', async () => ({ credential: await of({ iss: 'https://other.example' }) })],
  ['another audience', 'wrong_audience', async () => ({ credential: await of({ aud: ['https://control.example'] }) })],
  ['another tenant', 'wrong_tenant', async () => ({ credential: await of({ tid: 'tnt_b' }) })],
  ['a credential that has ended', 'expired', async () => ({ credential: await of({ exp: at(start) }) })],
  ['a credential of tomorrow', 'not_yet_valid', async () => ({ credential: await of({ nbf: at(after(3600)) }) })],
  ['a credential without a key', 'wrong_binding', async () => ({ credential: await of({ cnf: undefined }) })],
  ['no proof', 'malformed', () => ({ proof: '' })],
  ['a proof by another key', 'wrong_binding', () => ({ proof: prove(good, {}, generateKey('ES256').privateJwk) })],
  ['a proof for another gateway', 'wrong_binding', () => ({ proof: prove(good, sessionTarget('gwy_b')) })],
  [
    'a proof for the control plane',
    'wrong_binding',
    () => ({ proof: prove(good, { method: 'GET', url: 'https://control.example/v1/gateway/pools' }) }),
  ],
  ['a proof for another credential', 'wrong_binding', async () => ({ proof: prove(await of({ jti: 'two' })) })],
  ['a changed proof', 'bad_signature', () => ({ proof: bent(prove()) })],
  ['an old proof', 'expired', () => ({ proof: prove(good, { now: after(-61) }) })],
  ['a proof of tomorrow', 'not_yet_valid', () => ({ proof: prove(good, { now: after(65) }) })],
  ['a proof that was used', 'replayed', () => ({ proof: used })],
  ['a device that is no peer', 'not_a_peer', async () => ({ credential: await of({ sub: 'dev_2' }) })],
  [
    'a peer whose time has come',
    'not_a_peer',
    async () => ({ state: await stateOf({ peers: [{ ...peer, valid_until: start.toISOString() }] }) }),
  ],
  ['a device that is kept out', 'blocked', () => ({ state: blocked })],
]

test('each refusal has its name', async (t) => {
  for (const [what, code, shown] of refusals)
    await t.test(what, async () => {
      const all = await shown()
      assert.throws(() => judge(all), { name: 'VerificationError', code })
    })
})

test('a proof that is refused for another reason is not used up, and the memory of proofs ends with them', () => {
  const proof = prove()
  assert.throws(() => judge({ proof, state: blocked }), { code: 'blocked' })
  judge({ proof })
  assert.throws(() => judge({ proof }), { code: 'replayed' })
  const memory = createProofMemory()
  assert.deepEqual(
    [
      memory.isFirst('a', start),
      memory.isFirst('a', after(119)),
      memory.isFirst('b', after(119)),
      memory.isFirst('a', after(120)),
    ],
    [true, false, true, true],
  )
  for (let n = 0; n < 99_998; n++) memory.isFirst(String(n), after(91))
  assert.equal(memory.isFirst('one more', after(91)), false)
})
