import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createIssuer, makeKey } from '../../test/support/issuer.ts'
import { type GatewayDirectory, verifyGatewayDirectory } from './directory-verifier.ts'
import { pinTrust } from './trust-store.ts'

const now = new Date('2030-01-01T00:00:00Z')
const seconds = now.getTime() / 1000
const issuer = createIssuer({ now: () => now })
const { tenantId } = issuer
const trust = pinTrust(await issuer.trustSet(), { tenantId, now })
const judge = { trust, tenantId, now }
const refuses = (code: string) => ({ name: 'VerificationError', code })
const gateway = {
  gateway_id: 'gwy_a',
  name: 'a',
  endpoints: [{ host: 'a.example', port: 51820, proto: 'udp' }],
  public_key: 'k',
  weight: 100,
  status: 'healthy',
  standby: false,
}
const pool = {
  pool_id: 'gwp_a',
  name: 'A',
  region: { code: 'eu', name: 'Frankfurt' },
  protocol: 'wireguard',
  selection: 'latency',
  mtu: 1420,
  dns: ['10.0.0.53'],
  keepalive_seconds: 25,
  routes: ['10.0.0.0/8'],
  resources: ['wiki'],
  gateways: [gateway],
}
type Accepted = Pick<GatewayDirectory, 'seq' | 'issuedAt'>
const read = async (overrides: object, options: Parameters<typeof issuer.directory>[1] = {}, accepted?: Accepted) =>
  verifyGatewayDirectory(await issuer.directory(overrides, options), judge, accepted)

test('what the tenant signed is read', async () => {
  assert.deepEqual(await read({ seq: 7, pools: [pool] }), {
    seq: 7,
    issuedAt: now,
    expiresAt: new Date('2030-01-02T00:00:00Z'),
    pools: [pool],
  })
})

test('forged, foreign, old and expired: each is refused by its name', async () => {
  const another = createIssuer({ tenantId: 'tnt_b', now: () => now })
  const accepted = { seq: 5, issuedAt: now }
  const cases: [string, () => Promise<unknown>][] = [
    ['unknown_key', () => read({}, { key: makeKey('policy') })],
    ['unknown_key', async () => verifyGatewayDirectory(await another.directory(), judge, undefined)],
    ['unknown_key', () => read({}, { key: issuer.keys.gateway })],
    ['wrong_type', () => read({}, { typ: 'gateway-policy+jws' })],
    ['wrong_tenant', () => read({ tenant_id: 'tnt_b' })],
    ['rollback', () => read({ seq: 4 }, {}, accepted)],
    ['rollback', () => read({ seq: 5, iat: seconds - 1 }, {}, accepted)],
    ['expired', () => read({ exp: seconds })],
    ['malformed', () => read({ schema: 'holdfast.gateway-directory/2' })],
    ['malformed', () => read({ pools: [{ ...pool, gateways: [{ ...gateway, public_key: 7 }] }] })],
  ]
  for (const [code, work] of cases) await assert.rejects(work(), refuses(code), code)
  assert.equal((await read({ seq: 5 }, {}, accepted)).seq, 5, 'the same again is taken')
})

test('any changed byte is refused', async () => {
  const directory = await issuer.directory({ pools: [pool] })
  fc.assert(
    fc.property(fc.nat(directory.length - 1), fc.nat(6), (at, bit) => {
      const bytes = Buffer.from(directory, 'latin1')
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
      assert.throws(() => verifyGatewayDirectory(bytes.toString('latin1'), judge, undefined), {
        name: 'VerificationError',
      })
    }),
    { numRuns: 400 },
  )
})
