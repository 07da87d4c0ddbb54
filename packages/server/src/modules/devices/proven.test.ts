import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProofHeader } from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { createProvenCredentials, VerifiedProof } from './proven.ts'

const keys = {}
const proof = (digest: string, more: Partial<VerifiedProof> = {}) =>
  new VerifiedProof(digest, {
    tenantId: 't' as TenantId,
    deviceId: digest,
    generation: 1,
    jkt: 'k',
    expiresAt: 0,
    keys,
    ...more,
  })
const all = () => createProvenCredentials({ isCurrent: (p) => p.keys === keys })
const empty = (): { proven: VerifiedProof | null } => ({ proven: null })
const header = () => ({ segment: 'a' }) as ProofHeader

test('a device keeps its newest proven credential, with the key of the previous one', () => {
  const credentials = all()
  const device = empty()
  const [first, second] = [proof('first'), proof('second', { generation: 2 })]
  credentials.keep(device, first)
  credentials.keepHeader(first, header)
  credentials.keep(device, second)
  assert.equal(credentials.get('first'), undefined)
  assert.equal(credentials.get('second'), second)
  assert.equal(second.header, first.header)
  credentials.keep(device, proof('first again'))
  assert.equal(device.proven, second, 'an older one does not take its place')
  credentials.keep(device, proof('other key', { generation: 3, jkt: 'l' }))
  assert.equal(device.proven?.header, undefined)
})

test('ended credentials never outnumber the devices', () => {
  const credentials = all()
  const stay = Array.from({ length: 500 }, (_, i) => ({ device: empty(), mine: proof(`stays ${i}`) }))
  for (const { device, mine } of stay) credentials.keep(device, mine)
  let most = 0
  for (let n = 0; n < 20_000; n++) {
    const leaves = proof(`leaves ${n}`)
    credentials.keep(empty(), leaves)
    leaves.isOver = true
    most = Math.max(most, credentials.size)
  }
  assert.ok(most <= 2 * stay.length + 10, `${most} held for a fleet of ${stay.length}`)
  for (const { mine } of stay) assert.equal(credentials.get(mine.digest), mine)
})

test('a credential proven under keys that are no longer trusted is not found', () => {
  const credentials = all()
  const device = empty()
  credentials.keep(device, proof('old', { keys: {}, generation: 9 }))
  assert.equal(credentials.get('old'), undefined)
  credentials.keep(device, proof('new'))
  assert.equal(device.proven?.digest, 'new')
})

test('the credentials of an unloaded tenant are removed, even without further requests', async () => {
  const gone = {}
  const tenants = new Set([keys, gone])
  const credentials = createProvenCredentials({ isCurrent: (p) => tenants.has(p.keys) })
  for (let n = 0; n < 20_000; n++) credentials.keep(empty(), proof(String(n), { keys: n % 2 ? keys : gone }))
  tenants.delete(gone)
  await credentials.sweepAll()
  assert.equal(credentials.size, 10_000)
  assert.ok(credentials.get('1'))
})

test('proof keys are kept for the first 10,000 devices', () => {
  const credentials = all()
  const made = Array.from({ length: 10_001 }, (_, i) => proof(String(i)))
  for (const each of made) credentials.keep(empty(), each)
  const headers = made.map(() => header())
  for (const [i, each] of made.entries()) credentials.keepHeader(each, () => headers[i]!)
  assert.deepEqual([made[0]?.header, made[9999]?.header, made[10_000]?.header], [headers[0], headers[9999], undefined])
})
