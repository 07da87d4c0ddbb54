import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import S3rver from '@20minutes/s3rver'
import { AppError } from '../../src/kernel/app-error.ts'
import { createIncoming } from '../../src/modules/updates/store/incoming.ts'
import { refused } from '../support/actors/gateways.ts'
import { createClock, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { makeTenant } from '../support/deployment/tenants.ts'
import { until } from '../support/deployment/wait-until.ts'
import { contentOf, deviceOn, draft, randomContent, release, upload } from '../support/domain/releases.ts'

const gather = async (bytes: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(bytes))
const folder = async (t: TestContext) => {
  const made = await mkdtemp(join(tmpdir(), 'holdfast-s3-'))
  t.after(() => rm(made, { recursive: true }))
  return made
}

/** A server of S3 by others, with the credential that it knows. */
async function startBucket(t: TestContext) {
  const directory = await folder(t)
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory,
    silent: true,
    configureBuckets: [{ name: 'packages', configs: [] }],
  })
  const { port } = await server.run()
  return {
    packages: { bucket: { url: `http://127.0.0.1:${port}/packages`, region: 'us-east-1' } },
    secrets: { bucketCredential: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } },
    objects: async () =>
      (await readdir(join(directory, 'packages'), { recursive: true })).filter((f) => f.endsWith('_object')),
    close: () => server.close(),
  }
}

test('a bucket keeps packages as a folder does: uploads, downloads, parts of them, removal', async (t) => {
  const bucket = await startBucket(t)
  let ahead = 0
  const now = () => new Date(Date.now() + ahead)
  const kit = await startKit(t, { ...bucket, replicas: 2, now })
  kit.after(bucket.close)
  const { release_id } = await kit.admin.createRelease({ body: { version: '1.0.0', channel: 'stable' } })
  const bytes = randomContent(2_000_000)
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const made = await times(6, (i) => upload(clients[i % 2]!, release_id, bytes, { filename: `f${i}` }))
  const target = made[0]!.package.package_id
  assert.deepEqual(await gather(await kit.admin.updatePackage({ query: { target } })), bytes)
  const part = await kit.admin.updatePackage({ query: { target } }, { headers: { range: 'bytes=1000-1999' } })
  assert.deepEqual(await gather(part), bytes.subarray(1000, 2000))
  assert.deepEqual(await readdir(join(kit.packagesDir, 'incoming')), [])
  assert.deepEqual(await readdir(kit.packagesDir), ['incoming'], 'nothing is kept here')
  await kit.admin.deleteRelease({ params: { release_id } })
  ahead = 26 * 3_600_000
  await runJob(kit.app, 'sweep_packages')
  ahead += 2 * 3_600_000
  await runJob(kit.app, 'sweep_packages')
  assert.deepEqual(await bucket.objects(), [])
})

test('a bucket that is away fails an upload with 500 and leaves no package', async (t) => {
  const bucket = await startBucket(t)
  const kit = await startKit(t, bucket)
  await bucket.close()
  const { release_id } = await kit.admin.createRelease({ body: { version: '1.0.0', channel: 'stable' } })
  await assert.rejects(upload(kit.admin, release_id, contentOf('x')), refused(500))
  assert.deepEqual((await kit.admin.listPackages({ params: { release_id } })).items, [])
  assert.deepEqual(await readdir(join(kit.packagesDir, 'incoming')), [])
})

test('a deleted tenant leaves nothing in the store', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { tenant, client } = await makeTenant(kit, 'acme')
  await release(kit, '1.0.0', { client })
  await draft(kit, '1.0.0')
  const stored = async () =>
    (await readdir(join(kit.packagesDir, 'blobs'), { recursive: true })).filter((f) => f.includes('/'))
  assert.equal((await stored()).length, 2)
  const body = { operation: 'delete', tenant_id: tenant.tenant_id, delay_seconds: 3600 } as const
  await kit.admin.changeTenant({ body })
  clock.advance(3601)
  await runJob(kit.app, 'delete_tenants')
  clock.advance(3600)
  await runJob(kit.app, 'delete_tenants')
  const left = await stored()
  assert.deepEqual(
    left.map((f) => f.split('/')[0]),
    [kit.tenant],
  )
})

test('no room left is a 500 that says so, and leaves nothing half done', async (t) => {
  const dir = await folder(t)
  const incoming = createIncoming(dir)
  async function* endless() {
    yield Buffer.alloc(10)
    throw Object.assign(new Error('write'), { code: 'ENOSPC' })
  }
  await assert.rejects(
    incoming.receive(endless(), 1000),
    (e) => e instanceof AppError && e.code === 'internal_error' && /no room left/.test(e.message),
  )
  assert.deepEqual(await readdir(join(dir, 'incoming')), [])
})

test('a store that can not be written fails the upload alone: everything else goes on', async (t) => {
  const kit = await startKit(t)
  const device = await deviceOn(kit, 'laptop')
  const { release_id } = await kit.admin.createRelease({ body: { version: '1.0.0', channel: 'stable' } })
  // A file in place of a folder, as with a missing volume.
  await writeFile(join(kit.packagesDir, 'blobs'), '')
  await assert.rejects(upload(kit.admin, release_id, contentOf('x')), refused(500))
  assert.deepEqual((await kit.admin.listPackages({ params: { release_id } })).items, [])
  assert.deepEqual(await readdir(join(kit.packagesDir, 'incoming')), [])
  assert.equal((await device.client.policyDigest().catch((e) => e.status)) !== 500, true)
  await rm(join(kit.packagesDir, 'blobs'))
  assert.equal((await upload(kit.admin, release_id, contentOf('x'))).changed, true)
})

test('a folder of packages that can not be read stops no start', async (t) => {
  const file = join(await folder(t), 'no folder')
  await writeFile(file, '')
  const kit = await startKit(t, { packages: { dir: file } })
  await until(() => kit.logs.some((line) => /ENOTDIR/.test(line)))
  assert.deepEqual((await kit.admin.listReleases()).items, [])
})
