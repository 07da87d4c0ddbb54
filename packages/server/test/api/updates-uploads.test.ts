import assert from 'node:assert/strict'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { audited, refused } from '../support/actors/gateways.ts'
import { bearer, call } from '../support/clients/api-calls.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { contentOf, draft, linux, pieces, randomContent, sha256, upload } from '../support/domain/releases.ts'

const mib = 1024 * 1024
const newDraft = async ({ admin }: Kit, version = '1.0.0') =>
  (await admin.createRelease({ body: { version, channel: 'stable' } })).release_id
const blobsOf = async (kit: Kit) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .selectFrom('package_blobs')
      .select(['blob_id', 'state', 'sha256'])
      .where('tenant_id', '=', kit.tenant)
      .orderBy('blob_id')
      .execute(),
  )
const filesIn = async (...path: string[]) => (await readdir(join(...path)).catch(() => [])).sort()
const incoming = (kit: Kit) => filesIn(kit.packagesDir, 'incoming')
const contents = (kit: Kit) => filesIn(kit.packagesDir, 'blobs', kit.tenant)
const until = async (isSo: () => Promise<boolean>) => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}
const reprDigest = (hex: string) => `sha-256=:${Buffer.from(hex, 'hex').toString('base64')}:`

test('packages are uploaded', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  /** Each part in a tenant of its own. */
  const part = (what: string, work: (kit: Kit) => Promise<void>) =>
    t.test(what, async () => {
      const tenant = await kit.newTenant()
      const adminKey = await kit.keyFor('tenant_admin', tenant)
      await work({ ...kit, tenant, adminKey, admin: kit.clientFor(adminKey) })
    })
  await part('names that lead somewhere else are no file names', byName)
  await part('who may not upload is told so before a byte is read', notRead)
  await part(
    'a package arrives as it was sent; its SHA-256 may go in front, and what differs from it is refused',
    arrives,
  )
  await part('of twenty uploads of one content at once, on two replicas, all are packages and one is stored', ofTwenty)
  await part(
    'an upload under an Idempotency-Key is made once, and its repetition is answered without being read',
    byKey,
  )
  await part('what a killed process left is removed by the job, once nobody can be writing it', swept)
})

async function byName(kit: Kit): Promise<void> {
  const release_id = await newDraft(kit)
  for (const filename of [
    '../x',
    '..',
    '.x',
    'a/b',
    'a\\b',
    '/etc/passwd',
    '\\\\host\\share',
    'C:\\x',
    'a\n',
    'a\0b',
    '',
  ])
    await assert.rejects(upload(kit.admin, release_id, contentOf('x'), { filename }), refused(400), filename)
  assert.deepEqual([await incoming(kit), await contents(kit)], [[], []])
}

async function notRead(kit: Kit): Promise<void> {
  const release_id = await newDraft(kit)
  const large = Buffer.alloc(30 * mib)
  let read = 0
  async function* counted() {
    for await (const piece of pieces(large, 65_536)) {
      read += piece.length
      yield piece
    }
  }
  const send = async (key: string) =>
    kit
      .clientFor(key)
      .uploadPackage({ params: { release_id }, query: { ...linux, filename: 'a' }, body: counted() })
      .catch((e) => e)
  for (const key of ['hfk_nonsense', await kit.keyFor('viewer', kit.tenant)]) await send(key)
  assert.ok(read < 20 * mib, `${read} bytes were taken in all`)
  assert.deepEqual(await incoming(kit), [])
  const url = new URL(`/v1/admin/updates/releases/${release_id}/packages?platform=linux&arch=x64&filename=a`, kit.url)
  for (const type of ['application/x-www-form-urlencoded', 'application/octet-stream'])
    for (const body of [large, ReadableStream.from(counted())]) {
      const headers = { authorization: `Bearer ${kit.adminKey}`, 'content-type': type, 'content-encoding': 'gzip' }
      const answer = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), type.includes('form') ? /application\/octet-stream/ : /Content-Encoding/)
    }
  for (const body of [{ a: 1 }, undefined]) {
    const path = `/v1/admin/updates/releases/${release_id}/packages`
    const answer = await call(
      kit,
      { method: 'POST', path },
      bearer(kit.adminKey),
      body,
      '?platform=linux&arch=x64&filename=a',
    )
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, /application\/octet-stream/)
  }
}

async function arrives(kit: Kit): Promise<void> {
  const release_id = await newDraft(kit)
  const bytes = randomContent(mib)
  const good = { headers: { 'repr-digest': reprDigest(sha256(bytes)) } }
  const { package: made, changed } = await upload(kit.admin, release_id, bytes, {}, good)
  assert.deepEqual([made.size, made.sha256, changed], [bytes.length, sha256(bytes), true])
  const again = await upload(kit.admin, release_id, bytes)
  assert.deepEqual([again.package.package_id, again.changed], [made.package_id, false])
  await assert.rejects(upload(kit.admin, release_id, Buffer.from('other')), refused(422, /another content/))
  const slot = { filename: 'other.tar.gz' }
  const wrong = { headers: { 'repr-digest': reprDigest('00'.repeat(32)) } }
  await assert.rejects(upload(kit.admin, release_id, bytes, slot, wrong), refused(422, /Repr-Digest/))
  const nonsense = { headers: { 'repr-digest': 'md5=:x:' } }
  await assert.rejects(upload(kit.admin, release_id, bytes, slot, nonsense), refused(400, /Repr-Digest/))
  await assert.rejects(upload(kit.admin, release_id, Buffer.alloc(0), slot), refused(400))
  assert.equal((await kit.admin.listPackages({ params: { release_id } })).items.length, 1)
  assert.deepEqual([await incoming(kit), (await contents(kit)).length], [[], 1])
  assert.equal((await audited(kit, 'package.created')).length, 1)
}

async function ofTwenty(kit: Kit): Promise<void> {
  const release_id = await newDraft(kit)
  const bytes = randomContent(200_000)
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const made = await times(20, (i) => upload(clients[i % 2]!, release_id, bytes, { filename: `f${i % 10}` }))
  assert.equal(made.filter((m) => m.changed).length, 10, 'each file name once')
  assert.equal((await kit.admin.listPackages({ params: { release_id } })).items.length, 10)
  assert.equal((await blobsOf(kit)).filter((b) => b.state === 'stored').length, 1)
  assert.deepEqual(await incoming(kit), [])
}

async function byKey(kit: Kit): Promise<void> {
  const release_id = await newDraft(kit)
  const bytes = randomContent(100_000)
  const once = { idempotencyKey: 'upload-1', headers: { 'repr-digest': reprDigest(sha256(bytes)) } }
  const first = await upload(kit.admin, release_id, bytes, {}, once)
  const again = await upload(kit.admin, release_id, bytes, {}, once)
  assert.deepEqual(again, first)
  const other = { idempotencyKey: 'upload-1', headers: { 'repr-digest': reprDigest('00'.repeat(32)) } }
  await assert.rejects(upload(kit.admin, release_id, bytes, {}, other), refused(422, /Idempotency-Key/))
  const unsaid = { idempotencyKey: 'upload-2' }
  await assert.rejects(upload(kit.admin, release_id, bytes, {}, unsaid), refused(400, /Repr-Digest/))
  assert.equal((await audited(kit, 'package.created')).length, 1)
}

async function swept(kit: Kit): Promise<void> {
  await draft(kit, '1.0.0')
  const [old, young] = ['old', 'young'].map((name) => join(kit.packagesDir, 'incoming', name))
  for (const file of [old!, young!]) await writeFile(file, 'half')
  await utimes(old!, new Date(), new Date(Date.now() - 2 * 3_600_000))
  assert.equal(await runJob(kit.app, 'sweep_packages'), 1)
  assert.deepEqual(await incoming(kit), ['young'])
  assert.equal((await contents(kit)).length, 1, 'what is a package stays')
}

test('what is larger than it may be is refused, with or without its length, and leaves nothing', async (t) => {
  const small = await startKit(t, { packages: { largest: mib, largestOfTenant: 2 * mib } })
  const release_id = await newDraft(small)
  const bytes = randomContent(mib + 1)
  const said = { headers: { 'content-length': String(bytes.length) } }
  for (const options of [{}, said])
    await assert.rejects(upload(small.admin, release_id, bytes, {}, options), refused(400, /1048576 bytes/))
  await upload(small.admin, release_id, randomContent(mib), { filename: 'a' })
  await upload(small.admin, release_id, randomContent(mib), { filename: 'b' })
  await assert.rejects(upload(small.admin, release_id, randomContent(1), { filename: 'c' }), refused(422, /together/))
  assert.deepEqual([await incoming(small), (await contents(small)).length], [[], 2])
})

test('an upload that breaks off leaves nothing; one that comes a byte at a time is given up', async (t) => {
  const kit = await startKit(t, { pace: { graceMs: 500, bytesPerSecond: 1024 } })
  const release_id = await newDraft(kit)
  const path = `/v1/admin/updates/releases/${release_id}/packages?platform=linux&arch=x64&filename=a`
  const open = () => {
    const { hostname, port } = new URL(kit.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${kit.adminKey}\r\n` +
        'content-type: application/octet-stream\r\ncontent-length: 1000000\r\n\r\n',
    )
    return socket
  }
  const gone = open()
  gone.write(Buffer.alloc(100_000))
  await until(async () => (await incoming(kit)).length === 1)
  gone.destroy()
  await until(async () => (await incoming(kit)).length === 0)

  const slow = open()
  const dripping = setInterval(() => slow.write('x'), 50)
  const answer = await new Promise<string>((resolve) => slow.once('data', (data) => resolve(data.toString())))
  clearInterval(dripping)
  slow.destroy()
  assert.match(answer, /^HTTP\/1.1 400 [\s\S]*connection: close[\s\S]*the body comes too slowly/)
  await until(async () => (await incoming(kit)).length === 0)
  assert.deepEqual(await blobsOf(kit), [])
})

test('what no release refers to goes after a day, unless it is uploaded again', async (t) => {
  let ahead = 0
  const kit = await startKit(t, { now: () => new Date(Date.now() + ahead) })
  const kept = await draft(kit, '1.0.0')
  const { params } = await draft(kit, '2.0.0')
  await kit.admin.deleteRelease(params)
  await runJob(kit.app, 'sweep_packages')
  assert.equal((await contents(kit)).length, 2)
  ahead = 25 * 3_600_000
  await runJob(kit.app, 'sweep_packages')
  assert.deepEqual((await blobsOf(kit)).map((b) => b.state).sort(), ['removing', 'stored'])
  // The same content is stored again during its removal, under another name.
  const again = await draft(kit, '2.0.0')
  ahead += 2 * 3_600_000
  assert.equal(await runJob(kit.app, 'sweep_packages'), 1)
  assert.deepEqual(
    (await blobsOf(kit)).map((b) => b.state),
    ['stored', 'stored'],
  )
  for (const target of [kept.package.package_id, again.package.package_id]) {
    const parts = await Array.fromAsync(await kit.admin.updatePackage({ query: { target } }))
    assert.ok(parts.length > 0)
  }
})

test('a content that a package takes up while the job looks for what nobody uses stays', async (t) => {
  let ahead = 0
  const kit = await startKit(t, { now: () => new Date(Date.now() + ahead) })
  const { params } = await draft(kit, '1.0.0')
  await kit.admin.deleteRelease(params)
  const release_id = await newDraft(kit, '2.0.0')
  ahead = 25 * 3_600_000
  // The database stalls in the middle of the select.
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  client.on('error', () => {})
  await client.connect()
  await client.query(`create function stall() returns boolean language plpgsql as $$ begin
    if current_query() ~ 'skip locked' then
      perform pg_advisory_lock_shared(1);
      perform pg_advisory_unlock_shared(1);
    end if;
    return true;
  end $$`)
  await client.query('create policy stalls on package_blobs as restrictive using (stall())')
  await client.query('select pg_advisory_lock(1)')
  const sweeping = runJob(kit.app, 'sweep_packages')
  const waiting = `select from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory' and not l.granted and l.objid = 1`
  await until(async () => (await client.query(waiting)).rowCount === 1)
  const { package: made } = await upload(kit.admin, release_id, contentOf('1.0.0'))
  await client.end()
  await sweeping
  assert.deepEqual(
    (await blobsOf(kit)).map((b) => b.state),
    ['stored'],
  )
  ahead += 2 * 3_600_000
  await runJob(kit.app, 'sweep_packages')
  const parts = await Array.fromAsync(await kit.admin.updatePackage({ query: { target: made.package_id } }))
  assert.ok(Buffer.concat(parts).equals(contentOf('1.0.0')))
})
