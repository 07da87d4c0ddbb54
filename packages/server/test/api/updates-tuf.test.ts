import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSignedBy } from '@holdfast/crypto'
import { enrollRaw } from '../support/actors/all-callers.ts'
import { refused } from '../support/actors/gateways.ts'
import { tufClient } from '../support/clients/tuf-client.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { changeTo, contentOf, release, sha256 } from '../support/domain/releases.ts'

const path = '1.1.0/linux/x64/client.tar.gz'
const flip = (bytes: Buffer, at: number) => Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ 1 : byte)))
const day = 86_400_000
const metadataOf = (kit: Kit, role: string) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .selectFrom('tuf_metadata')
      .select(['version', 'document'])
      .where('tenant_id', '=', kit.tenant)
      .where('role', '=', role as 'root')
      .orderBy('version')
      .execute(),
  )

test('what is published, on two replicas', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test('tuf-js updates with the credential of a device, and follows what is published and halted', () =>
    byDevice(kit),
  )
  const tenant = await kit.newTenant()
  const adminKey = await kit.keyFor('tenant_admin', tenant)
  await t.test(
    'of many who publish and read at once every version is given out once and says no less than the one before',
    () => byMany({ ...kit, tenant, adminKey, admin: kit.clientFor(adminKey) }),
  )
})

async function byDevice(kit: Kit): Promise<void> {
  const { secret } = await kit.admin.generateToken({ body: {} })
  const device = await enrollRaw(kit, secret)
  const client = await tufClient(kit, { caller: device.caller })
  assert.equal(await client.get(path), undefined, 'nothing is published yet')
  const { release_id } = await release(kit, '1.1.0')
  assert.deepEqual(await client.get(path), contentOf('1.1.0'))
  const there = await tufClient(kit, { caller: device.caller, dispatcher: kit.replicas[1]!.dispatcher })
  await kit.heard()
  assert.deepEqual(await there.get(path), contentOf('1.1.0'))
  await changeTo(kit.admin, release_id, { operation: 'pause' })
  assert.deepEqual(await client.get(path), contentOf('1.1.0'), 'who has begun may finish')
  await changeTo(kit.admin, release_id, { operation: 'halt', reason: 'broken' })
  assert.equal(await client.get(path), undefined)
  const { tuf } = await kit.admin.updateManifest({
    query: { platform: 'linux', arch: 'x64', version: '1.0.0', device_id: device.id },
  })
  assert.deepEqual(tuf, {
    root_version: 1,
    timestamp_version: (await metadataOf(kit, 'timestamp')).at(-1)!.version,
    metadata_base: '/v1/update/tuf/metadata',
  })
}

async function byMany(kit: Kit): Promise<void> {
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  await times(6, async (i) => {
    const client = clients[i % 2]!
    await release(kit, `1.0.${i}`, { client })
    await client.tufMetadata({ params: { file: 'timestamp.json' } })
  })
  // Both replicas are notified of one change and sign at the same time.
  for (let i = 6; i < 9; i++) {
    await release(kit, `1.0.${i}`)
    await kit.heard()
    await times(4, (n) => clients[n % 2]!.tufMetadata({ params: { file: 'timestamp.json' } }))
    await kit.heard()
  }
  for (const role of ['root', 'targets', 'snapshot', 'timestamp']) {
    const rows = await metadataOf(kit, role)
    assert.deepEqual(
      rows.map((r) => r.version),
      rows.map((_, i) => i + 1),
      role,
    )
  }
  const named = (await metadataOf(kit, 'targets')).map(({ document }) =>
    Object.keys(JSON.parse(document).signed.targets),
  )
  assert.equal(named.at(-1)!.length, 9)
  for (const [parent, child] of [
    ['timestamp', 'snapshot'],
    ['snapshot', 'targets'],
  ] as const) {
    const children = await metadataOf(kit, child)
    for (const { document } of await metadataOf(kit, parent)) {
      const { version, hashes } = JSON.parse(document).signed.meta[`${child}.json`]
      assert.equal(hashes.sha256, sha256(Buffer.from(children[version - 1]!.document)), `${parent} of its ${child}`)
    }
  }
  assert.ok(named.every((now, i) => i === 0 || named[i - 1]!.every((target) => now.includes(target))))
  const client = await tufClient(kit)
  assert.deepEqual(await client.get('1.0.5/linux/x64/client.tar.gz'), contentOf('1.0.5'))
}

test('what stands between a client and the repository, and what the repository has', async (t) => {
  const kit = await startKit(t)
  await t.test('tuf-js refuses what was changed on the way: each role, a package, and metadata of other times', () =>
    byChanged(kit),
  )
  await t.test('metadata by exact names: what was never given out is not there', () => byExactNames(kit))
  await t.test('a key that is replaced is followed by a new root, by which clients come along', () => byNewRoot(kit))
})

async function byChanged(kit: Kit): Promise<void> {
  const client = await tufClient(kit)
  await client.refresh()
  const [oldTimestamp, oldSnapshot] = [
    client.seen.get('/metadata/timestamp.json')!,
    client.seen.get('/metadata/1.snapshot.json')!,
  ]
  await release(kit, '1.1.0')
  for (const role of ['timestamp', 'snapshot', 'targets']) {
    const victim = await tufClient(kit)
    victim.meddle((at, bytes) => (at.includes(role) ? flip(bytes, 100) : bytes))
    await assert.rejects(victim.refresh(), role)
    victim.meddle((at, bytes) => {
      if (!at.includes(role)) return bytes
      const { signed } = JSON.parse(bytes.toString())
      return Buffer.from(JSON.stringify({ signed, signatures: [] }))
    })
    await assert.rejects(victim.refresh(), `${role} unsigned`)
  }
  const robbed = await tufClient(kit)
  robbed.meddle((at, bytes) => (at.startsWith('/targets/') ? flip(bytes, 300) : bytes))
  await assert.rejects(robbed.get(path), /hash/i, 'a mutated package')
  robbed.meddle((at, bytes) => (at.startsWith('/targets/') ? bytes.subarray(0, -1) : bytes))
  await assert.rejects(robbed.get(path), 'a truncated package')
  robbed.meddle((_, bytes) => bytes)
  assert.deepEqual(await robbed.get(path), contentOf('1.1.0'))

  assert.deepEqual(await client.get(path), contentOf('1.1.0'))
  client.meddle((at, bytes) => (at === '/metadata/timestamp.json' ? oldTimestamp : bytes))
  await assert.rejects(client.refresh(), /less than current version/, 'an old timestamp')
  client.meddle((at, bytes) => (/\d+\.snapshot/.test(at) ? oldSnapshot : bytes))
  await release(kit, '1.2.0')
  await assert.rejects(client.refresh(), /snapshot/i, 'an old snapshot under a new timestamp')
}

async function byExactNames(kit: Kit): Promise<void> {
  const { root } = await kit.admin.tufStatus()
  const first = await kit.admin.tufMetadata({ params: { file: '1.root.json' } })
  assert.deepEqual(first, root)
  for (const file of [
    '2.root.json',
    '0.root.json',
    '01.root.json',
    'root.json',
    '1.timestamp.json',
    'x',
    '1.root.json.bak',
    '999999999.snapshot.json',
  ])
    await assert.rejects(kit.admin.tufMetadata({ params: { file } }), refused(404), file)
}

async function byNewRoot(kit: Kit): Promise<void> {
  const client = await tufClient(kit)
  await client.refresh()
  const before = (await kit.admin.tufStatus()).online_keys
  // The state after the rotation of a signing key: the old one retired, none active.
  await kit.db.inTenant(kit.tenant, async (tx) => {
    await tx
      .updateTable('signing_keys')
      .set({ state: 'retired' })
      .where('tenant_id', '=', kit.tenant)
      .where('purpose', 'in', ['tuf-targets', 'tuf-snapshot', 'tuf-timestamp'])
      .execute()
    await kit.app.changes.record(tx, kit.tenant, [{ kind: 'trust', subject: kit.tenant }])
  })
  assert.deepEqual(await client.get(path), contentOf('1.1.0'))
  assert.equal(await client.rootVersion(), 2)
  const { online_keys, root, due } = await kit.admin.tufStatus()
  assert.notDeepEqual(online_keys.targets, before.targets)
  assert.ok(isSignedBy(root, root.signed.keys, root.signed.roles.root))
  assert.equal(due, null)
}

test('tuf-js refuses an expired timestamp; while the server runs none expires', async (t) => {
  let offset = -1.5 * day
  const kit = await startKit(t, { now: () => new Date(Date.now() + offset) })
  await release(kit, '1.1.0')
  const client = await tufClient(kit)
  await assert.rejects(client.refresh(), /expired/)
  offset = 0
  await runJob(kit.app, 'renew_update_metadata')
  await client.refresh()
  // Each role is renewed after half of its lifetime.
  const versions = async () => {
    const all = await times(4, async (i) => metadataOf(kit, ['root', 'targets', 'snapshot', 'timestamp'][i]!))
    return all.map((rows) => rows.at(-1)!.version)
  }
  const seen = [await versions()]
  for (const ahead of [0.6, 4, 16, 200]) {
    offset = ahead * day
    await runJob(kit.app, 'renew_update_metadata')
    seen.push(await versions())
  }
  const grew = seen.slice(1).map((now, i) => now.map((version, role) => version - seen[i]![role]!))
  assert.deepEqual(grew, [
    [0, 0, 0, 1],
    [0, 0, 1, 1],
    [0, 1, 1, 1],
    [1, 1, 1, 1],
  ])
})
