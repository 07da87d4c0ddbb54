import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKit } from '../support/deployment/deployment.ts'
import { askPython, without } from './tools.ts'

type Seen = {
  device_id: string
  thumbprint: string
  claims: { aud: string[]; tid: string; cnf: { jkt: string } }
  pointer: { digest: string; tenant_id: string }
  statuses: Record<string, number>
  etag: string
  digest: string
  bundle_digest: string
  refused: Record<string, number>
}

test('a device made of jwcrypto and urllib enrolls with a key of its own and polls its policy', {
  skip: without('python3-jwcrypto'),
}, async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: {} })
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'] }]
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const { url, publicUrl: public_url } = kit
  const seen = await askPython<Seen>('python3-jwcrypto', 'device.py', { url, public_url, token })

  assert.deepEqual(seen.statuses, { trust: 200, digest: 200, unchanged: 304, bundle: 200 })
  assert.equal(seen.claims.cnf.jkt, seen.thumbprint)
  assert.deepEqual(seen.claims.aud, [kit.publicUrl, 'urn:holdfast:gateway'])
  assert.equal(seen.pointer.tenant_id, seen.claims.tid)
  assert.deepEqual([seen.pointer.digest, seen.bundle_digest, seen.etag], [seen.digest, seen.digest, `"${seen.digest}"`])
  assert.equal(Object.keys(seen.refused).length, 8)
  for (const [why, status] of Object.entries(seen.refused)) assert.equal(status, 401, why)

  const device = await kit.admin.getDevice({ params: { device_id: seen.device_id } })
  assert.deepEqual([device.name, device.status], ['independent', 'active'])
})
