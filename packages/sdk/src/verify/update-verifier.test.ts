import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, importPublic, signJws, softwareSigner } from '@holdfast/crypto'
import { VerificationError } from '../errors.ts'
import type { TrustStore } from './trust-store.ts'
import { verifyManifest } from './update-verifier.ts'

const { privateJwk, publicJwk } = generateKey('ES256')
const signer = softwareSigner('update', privateJwk)
const now = new Date('2026-01-31T09:30:00Z')
const trust = {
  keysFor: (purpose: string) => (kid: string) =>
    purpose === 'update' && kid === signer.kid ? { publicKey: importPublic(publicJwk), alg: 'ES256' } : undefined,
} as unknown as TrustStore
const asked = { platform: 'linux', arch: 'x64', version: '1.0.0' } as const
const update = {
  version: '1.1.0',
  channel: 'stable',
  filename: 'client',
  target: 'pkg_1',
  target_path: '1.1.0/linux/x64/client',
  size: 10,
  sha256: 'ab'.repeat(32),
  mandatory: false,
  severity: 'normal',
  notes_url: null,
  released_at: '2026-01-30T00:00:00.000Z',
}
const manifest = {
  schema: 'holdfast.update-manifest/1',
  tenant_id: 'tnt_1',
  platform: 'linux',
  arch: 'x64',
  client_version: { current: '1.0.0', minimum: null, latest: '1.1.0' },
  updates: [update],
  exp: now.getTime() / 1000 + 60,
}
const verify = async (changed: object, typ = 'update-manifest+jws', by = signer) =>
  verifyManifest(await signJws(by, typ, { ...manifest, ...changed }), asked, { trust, tenantId: 'tnt_1', now })
const refusedAs = (code: string) => (e: unknown) => e instanceof VerificationError && e.code === code

test('a manifest that answers the request is read', async () => {
  const { updates, latest, expiresAt } = await verify({})
  assert.deepEqual([updates[0]?.version, updates[0]?.targetPath, latest], ['1.1.0', update.target_path, '1.1.0'])
  assert.equal(expiresAt.getTime(), now.getTime() + 60_000)
})

test('parameters left out of the request are read from the signed answer', async () => {
  const all = { trust, tenantId: 'tnt_1', now }
  const signed = (changed: object = {}) => signJws(signer, 'update-manifest+jws', { ...manifest, ...changed })
  const { platform, arch, current, updates } = verifyManifest(await signed(), {}, all)
  assert.deepEqual([platform, arch, current, updates.length], ['linux', 'x64', '1.0.0', 1])
  const older = await signed({ client_version: { current: '1.1.0', minimum: null, latest: '1.1.0' } })
  assert.throws(() => verifyManifest(older, {}, all), refusedAs('rollback'))
  for (const current of [null, 'x', undefined]) {
    const none = await signed({ client_version: { ...manifest.client_version, current } })
    assert.throws(() => verifyManifest(none, {}, all), refusedAs('malformed'))
  }
  assert.throws(() => verifyManifest(older, { arch: 'arm64' }, all), refusedAs('wrong_digest'))
})

test('a manifest of another tenant, request, time, key or type, or with an older version, is refused', async () => {
  const other = softwareSigner('update', generateKey('ES256').privateJwk)
  await assert.rejects(verify({ tenant_id: 'tnt_2' }), refusedAs('wrong_tenant'))
  await assert.rejects(verify({ platform: 'windows' }), refusedAs('wrong_digest'))
  await assert.rejects(verify({ arch: 'arm64' }), refusedAs('wrong_digest'))
  await assert.rejects(verify({ client_version: { current: '0.9.0' } }), refusedAs('wrong_digest'))
  await assert.rejects(verify({ exp: now.getTime() / 1000 }), refusedAs('expired'))
  await assert.rejects(verify({}, 'update-manifest+jws', other), refusedAs('unknown_key'))
  await assert.rejects(verify({}, 'policy-bundle+jws'), refusedAs('wrong_type'))
  for (const version of ['1.0.0', '0.9.9', '1.0.0-rc.1'])
    await assert.rejects(verify({ updates: [update, { ...update, version }] }), refusedAs('rollback'), version)
  await assert.rejects(verify({ updates: [{ ...update, sha256: 'x' }] }), refusedAs('malformed'))
  await assert.rejects(verify({ schema: 'holdfast.update-manifest/2' }), refusedAs('malformed'))
})
