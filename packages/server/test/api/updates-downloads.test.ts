import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { enrollDevice, VerificationError } from '@holdfast/sdk'
import { refused } from '../support/actors/gateways.ts'
import { bearer, type Caller, send } from '../support/clients/api-calls.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import {
  changeTo,
  contentOf,
  deviceOn,
  draft,
  linux,
  randomContent,
  release,
  sha256,
  upload,
} from '../support/domain/releases.ts'

const sdkDevice = async (kit: Kit) => {
  const { secret: token } = await kit.admin.generateToken({ body: {} })
  const device = { name: 'laptop', platform: 'linux' } as const
  return enrollDevice({ baseUrl: kit.publicUrl, dispatcher: kit.dispatcher, token, device })
}
const asked = { ...linux, version: '1.0.0' } as const
const fetchBy = (kit: Kit, caller: Caller, path: string, more: Record<string, string> = {}, method = 'GET') =>
  send(kit, method, path, { ...caller(method, kit.publicUrl + path.split('?')[0]), ...more })
const folder = async (kit: Kit) => {
  const made = await mkdtemp(join(tmpdir(), 'holdfast-download-'))
  kit.after(() => rm(made, { recursive: true }))
  return made
}
const gather = async (bytes: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(bytes))
/** The file in the store that has this content. */
const blobFile = async (kit: Kit, content: Buffer) => {
  const at = join(kit.packagesDir, 'blobs', kit.tenant)
  for (const name of await readdir(at)) if (content.equals(await readFile(join(at, name)))) return join(at, name)
  return assert.fail('it is not in the store')
}

test('packages are downloaded', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test(
    'a device gets what reaches it and nothing else: no draft, no other channel, no halted one, none of another tenant',
    () => whatReaches(kit),
  )
  await t.test('a device checks for an update and downloads it; what breaks off is gone on with', () => inTwoGoes(kit))
  await t.test('a package that is not what was signed is refused and thrown away, wherever it was changed', () =>
    changed(kit),
  )
  await t.test(
    'Range, If-Range, If-None-Match, HEAD: one part or the whole, under one tag; many parts are the whole',
    () => byRanges(kit),
  )
  await t.test(
    'a name that leads somewhere else is no package: ../, its encodings, NUL, absolute paths, UNC, a link in the store',
    () => elsewhere(kit),
  )
})

async function whatReaches(kit: Kit): Promise<void> {
  const [stable, canary] = [await deviceOn(kit, 'careful', 'stable'), await deviceOn(kit, 'brave', 'canary')]
  const get = async (device: typeof stable, target: string) =>
    device.client.updatePackage({ query: { target } }).then(gather, (e) => e.status)
  const unpublished = await draft(kit, '1.0.0')
  const trial = await release(kit, '1.1.0', { channel: 'canary' })
  const nobodys = await release(kit, '1.2.0', { rollout: { percent: 0, group_ids: [] } })
  const foreign = await kit.newTenant()
  const theirs = await release(kit, '1.3.0', { client: await kit.as('tenant_admin', foreign) })
  for (const { package: p } of [unpublished, nobodys, theirs])
    for (const device of [stable, canary]) assert.equal(await get(device, p.package_id), 404, p.target_path)
  assert.equal(await get(stable, trial.package.package_id), 404)
  assert.deepEqual(await get(canary, trial.package.package_id), contentOf('1.1.0'))
  const target = { version: '1.1.0', platform: 'linux', arch: 'x64', file: `${trial.package.sha256}.client.tar.gz` }
  assert.deepEqual(await gather(await canary.client.tufTarget({ params: target })), contentOf('1.1.0'))
  await assert.rejects(stable.client.tufTarget({ params: target }), refused(404))

  const other = { client: canary.at(kit.replicas[1]!) }
  await changeTo(kit.admin, trial.release_id, { operation: 'pause' })
  await kit.heard()
  assert.deepEqual(
    await gather(await other.client.updatePackage({ query: { target: trial.package.package_id } })),
    contentOf('1.1.0'),
    'who has begun may finish',
  )
  await changeTo(kit.admin, trial.release_id, { operation: 'halt', reason: 'broken' })
  await kit.heard()
  await assert.rejects(other.client.updatePackage({ query: { target: trial.package.package_id } }), refused(404))
  assert.equal(await get(canary, trial.package.package_id), 404)
  // An administrator may still download it.
  assert.deepEqual(
    await gather(await kit.admin.updatePackage({ query: { target: trial.package.package_id } })),
    contentOf('1.1.0'),
  )
}

async function inTwoGoes(kit: Kit): Promise<void> {
  const device = await sdkDevice(kit)
  const bytes = randomContent(2_000_000)
  const { release_id } = await kit.admin.createRelease({ body: { version: '1.3.0', channel: 'stable' } })
  await upload(kit.admin, release_id, bytes)
  await changeTo(kit.admin, release_id, { operation: 'publish' })
  const { updates, latest } = await device.checkForUpdate(asked)
  assert.deepEqual([updates.length, latest, updates[0]!.sha256], [1, '1.3.0', sha256(bytes)])
  const path = join(await folder(kit), 'client')
  const stop = new AbortController()
  const onProgress = (received: number) => {
    if (received > 500_000) stop.abort()
  }
  await assert.rejects(device.downloadUpdate(updates[0]!, path, { signal: stop.signal, onProgress }))
  const half = (await readFile(`${path}.part`)).length
  assert.ok(half > 0 && half < bytes.length, `${half}`)
  let first = 0
  await device.downloadUpdate(updates[0]!, path, { onProgress: (received) => (first ||= received) })
  assert.ok(first > half, 'from where it broke off')
  assert.deepEqual(await readFile(path), bytes)
  await device.downloadUpdate(updates[0]!, path)
  const { updates: none } = await device.checkForUpdate({ ...asked, version: '1.3.0' })
  assert.deepEqual(none, [])
}

async function changed(kit: Kit): Promise<void> {
  const device = await sdkDevice(kit)
  await release(kit, '1.4.0')
  const { updates } = await device.checkForUpdate({ ...asked, version: '1.3.0' })
  const path = join(await folder(kit), 'client')
  const isWrong = (e: unknown) => e instanceof VerificationError && e.code === 'wrong_digest'
  const file = await blobFile(kit, contentOf('1.4.0'))
  const good = await readFile(file)
  await writeFile(
    file,
    good.map((byte, i) => (i === 700 ? byte ^ 1 : byte)),
  )
  await assert.rejects(device.downloadUpdate(updates[0]!, path), isWrong)
  await truncate(file, 500)
  await assert.rejects(device.downloadUpdate(updates[0]!, path), refused(500))
  await writeFile(file, good)
  await writeFile(`${path}.part`, 'an earlier attempt at something else')
  await assert.rejects(device.downloadUpdate(updates[0]!, path), isWrong)
  await device.downloadUpdate(updates[0]!, path)
  assert.deepEqual(await readFile(path), good)
}

async function byRanges(kit: Kit): Promise<void> {
  const { package: made } = await release(kit, '1.5.0')
  const bytes = contentOf('1.5.0')
  const path = `/v1/update/package?target=${made.package_id}`
  const get = (more: Record<string, string> = {}, method = 'GET') =>
    fetchBy(kit, bearer(kit.adminKey), path, more, method)
  const whole = await get()
  const etag = `"${made.sha256}"`
  const { headers } = whole
  assert.deepEqual([whole.status, whole.text], [200, bytes.toString()])
  assert.deepEqual(
    [headers.etag, headers['accept-ranges'], headers['content-type'], headers['x-content-type-options']],
    [etag, 'bytes', 'application/octet-stream', 'nosniff'],
  )
  assert.equal(headers['content-disposition'], 'attachment; filename="client.tar.gz"')
  assert.equal(headers['repr-digest'], `sha-256=:${Buffer.from(made.sha256, 'hex').toString('base64')}:`)
  assert.equal(headers['content-length'], String(bytes.length))
  const size = bytes.length
  for (const [range, first, end] of [
    ['bytes=0-9', 0, 10],
    ['bytes=5-', 5, size],
    ['bytes=-7', size - 7, size],
    [`bytes=10-${size * 9}`, 10, size],
  ] as const) {
    const part = await get({ range })
    assert.deepEqual([part.status, part.text], [206, bytes.subarray(first, end).toString()], range)
    assert.equal(part.headers['content-range'], `bytes ${first}-${end - 1}/${size}`)
    assert.equal(part.headers.etag, etag)
  }
  for (const range of ['bytes=0-1,5-6', `bytes=${Array(2000).fill('0-').join(',')}`, 'lines=1-2', 'bytes=9-1', 'x'])
    assert.deepEqual(
      [(await get({ range })).status, (await get({ range })).text.length],
      [200, size],
      range.slice(0, 20),
    )
  for (const range of [`bytes=${size}-`, 'bytes=-0']) {
    const answer = await get({ range })
    assert.equal(answer.status, 400, range)
    assert.equal(answer.headers['content-range'], `bytes */${size}`)
    assert.equal(answer.json.error, 'bad_request')
  }
  assert.equal((await get({ range: 'bytes=0-9', 'if-range': etag })).status, 206)
  assert.equal((await get({ range: 'bytes=0-9', 'if-range': '"other"' })).status, 200)
  assert.equal((await get({ range: 'bytes=0-9', 'if-range': new Date().toUTCString() })).status, 200)
  assert.deepEqual(
    [(await get({ 'if-none-match': etag })).status, (await get({ 'if-none-match': etag })).text],
    [304, ''],
  )
  const head = await get({}, 'HEAD')
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String(size)])
}

async function elsewhere(kit: Kit): Promise<void> {
  const { package: made } = await release(kit, '1.6.0')
  const key = bearer(kit.adminKey)
  const secret = join(kit.packagesDir, 'secret')
  await writeFile(secret, 'not for you')
  const names = [
    ...[
      '../secret',
      '..%2fsecret',
      '%2e%2e/secret',
      '%2e%2e%2fsecret',
      '....//secret',
      '..%5csecret',
      '%252e%252e%252f',
    ],
    ...[encodeURIComponent(secret), '/etc/passwd', '%2fetc%2fpasswd', 'file:///etc/passwd', '%5c%5chost%5cshare'],
    ...['', '.', '..', 'pkg_', made.package_id.toUpperCase(), `${made.package_id}/`, `${made.package_id}%20`],
  ]
  for (const name of names) {
    const answer = await fetchBy(kit, key, `/v1/update/package?target=${name}`)
    assert.equal(answer.status, 400, `${name}: ${answer.text}`)
  }
  // A NUL is refused anywhere in a query.
  assert.equal((await fetchBy(kit, key, `/v1/update/package?target=${made.package_id}%00`)).status, 400)
  const hashed = `${made.sha256}.client.tar.gz`
  const good = `/v1/update/tuf/targets/1.6.0/linux/x64/${hashed}`
  assert.equal((await fetchBy(kit, key, good)).status, 200)
  for (const path of [
    ...[
      `../../secret`,
      `1.6.0/linux/x64/..%2f${hashed}`,
      `1.6.0/linux/%2e%2e/${hashed}`,
      `1.6.0/linux/x64/${hashed}%00`,
    ],
    ...[`1.6.0/linux/x64/client.tar.gz`, `1.6.0/linux/x64/${'0'.repeat(64)}.client.tar.gz`, `%2fetc/a/b/passwd`],
    ...[`1.6.0%2flinux/x64/a/${hashed}`, `1.6.0/linux/x64/%5c%5chost%5c${hashed}`],
  ]) {
    const answer = await fetchBy(kit, key, `/v1/update/tuf/targets/${path}`)
    assert.equal(answer.status, 404, `${path}: ${answer.text}`)
  }
  const file = await blobFile(kit, contentOf('1.6.0'))
  await rename(file, `${file}.away`)
  await symlink(secret, file)
  const link = await fetchBy(kit, key, `/v1/update/package?target=${made.package_id}`)
  assert.deepEqual([link.status, link.text.includes('not for you')], [404, false])
}
