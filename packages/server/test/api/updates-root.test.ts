import assert from 'node:assert/strict'
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import type { Contract, Input } from '@holdfast/contract'
import { enrollOnChannel } from '../support/actors/devices.ts'
import { refused } from '../support/clients/answers.ts'
import { startCommand } from '../support/clients/cli-command.ts'
import { tufClient } from '../support/clients/tuf-client.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { contentOf, publishRelease, sha256 } from '../support/domain/releases.ts'

type Root = Input<Contract['replaceTufRoot']>['body']
type Role = Root['signed']['roles']['root']
const path = '1.1.0/linux/x64/client.tar.gz'
const day = 86_400_000

async function ceremony(t: TestContext, kit: Kit) {
  const { run, file } = await startCommand(t, kit)
  const ok = async (...args: string[]) => {
    const { code, out, err } = await run(...args)
    assert.equal(code, 0, `${args.join(' ')}: ${err}`)
    return out
  }
  const keygen = async (...names: string[]) => {
    for (const name of names) await ok('update', 'root', 'keygen', file(name))
  }
  const pubs = (...names: string[]) => names.map((name) => file(`${name}.pub`))
  return {
    run,
    ok,
    file,
    keygen,
    next: (root: string, threshold: number, names: string[], ...more: string[]) =>
      ok('update', 'root', 'next', file(root), '--key', ...pubs(...names), '--threshold', String(threshold), ...more),
    sign: async (root: string, ...names: string[]) => {
      for (const name of names) await ok('update', 'root', 'sign', file(root), '--key', file(`${name}.key`))
    },
    publish: (root: string) => run('update', 'root', 'publish', file(root)),
    read: async (root: string): Promise<Root> => JSON.parse(await readFile(file(root), 'utf8')),
  }
}

test('root keys move from the control plane to three holders with a threshold of two, and on; tuf-js follows', async (t) => {
  const kit = await startKit(t)
  const { keygen, next, sign, publish, file } = await ceremony(t, kit)
  await publishRelease(kit, '1.1.0')
  const client = await tufClient(kit)
  assert.deepEqual(await client.get(path), contentOf('1.1.0'))

  await keygen('anna', 'ben', 'cleo')
  assert.equal((await stat(file('anna.key'))).mode & 0o777, 0o600)
  await next('two.json', 2, ['anna', 'ben', 'cleo'])
  assert.match((await publish('two.json')).err, /signed by 2 keys of this root itself/)
  await sign('two.json', 'anna')
  assert.match((await publish('two.json')).err, /signed by 2 keys of this root itself/)
  await sign('two.json', 'cleo')
  assert.equal((await publish('two.json')).code, 0)
  assert.equal((await kit.admin.tufStatus()).is_online, false)
  assert.deepEqual(await client.get(path), contentOf('1.1.0'))
  assert.equal(await client.rootVersion(), 2)

  // Neither the control plane nor a single key holder can create the next root alone.
  await keygen('dora')
  await next('three.json', 1, ['dora'])
  await sign('three.json', 'dora')
  assert.match((await publish('three.json')).err, /signed by 2 keys of root 2/)
  await sign('three.json', 'ben')
  assert.match((await publish('three.json')).err, /signed by 2 keys of root 2/)
  await sign('three.json', 'anna')
  assert.equal((await publish('three.json')).code, 0)
  assert.match((await publish('three.json')).err, /signed.version: must be 4/)
  await client.refresh()
  assert.equal(await client.rootVersion(), 3)
  const fresh = await tufClient(kit)
  assert.deepEqual(await fresh.get(path), contentOf('1.1.0'), 'from the first root on')
  assert.equal((await eventsOf(kit, 'update_root.replaced')).length, 2)
})

test('a root is judged completely: version, keys, expiry and signers of the other roles', async (t) => {
  const kit = await startKit(t)
  const { keygen, next, sign, read } = await ceremony(t, kit)
  await keygen('anna')
  await next('two.json', 1, ['anna'])
  await sign('two.json', 'anna')
  const good = await read('two.json')
  const { signed, signatures } = good
  const [keyid] = signed.roles.root.keyids
  const publish = (changed: Partial<Root['signed']>) =>
    kit.admin.replaceTufRoot({ body: { signed: { ...signed, ...changed }, signatures } })
  const roles = signed.roles
  const [other, unknown] = [keyid!, 'ab'.repeat(32)].map((id) => ({ keyids: [id], threshold: 1 })) as [Role, Role]
  for (const [changed, why] of [
    [{ version: 3 }, /signed.version: must be 2/],
    [{ version: 1 }, /signed.version: must be 2/],
    [{ expires: '2020-01-01T00:00:00Z' }, /signed.expires/],
    [{ expires: '2099-01-01T00:00:00Z' }, /signed.expires/],
    [{ expires: '2027-99-99T00:00:00Z' }, /signed.expires/],
    [{ roles: { ...roles, targets: other } }, /signed.roles.targets: must list only the key/],
    [{ roles: { ...roles, timestamp: { ...roles.timestamp, threshold: 2 } } }, /timestamp.threshold/],
    [{ roles: { ...roles, root: unknown } }, /is not the id of a listed key/],
    [
      { keys: { ...signed.keys, ['ab'.repeat(32)]: signed.keys[keyid!]! } },
      /does not match the id computed from its key/,
    ],
    [
      { keys: { ...signed.keys, ['cd'.repeat(32)]: { keytype: 'rsa', scheme: 'rsa', keyval: { public: 'x' } } } },
      /not a key of a supported scheme/,
    ],
    [{ spec_version: '1.0.30' }, /signatures/],
  ] as const)
    await assert.rejects(publish(changed), refused(422, why), JSON.stringify(changed).slice(0, 80))
  await assert.rejects(kit.admin.replaceTufRoot({ body: { ...good, signatures: [] } }), refused(422, /signatures/))
  const operator = await kit.as('operator')
  await assert.rejects(operator.replaceTufRoot({ body: good }), refused(403))
  const all = await times(20, () => kit.admin.replaceTufRoot({ body: good }).then(() => true, refused(422)))
  assert.ok(all.length > 0)
  assert.equal((await eventsOf(kit, 'update_root.replaced')).length, 1, 'of twenty at once one is taken')
  assert.equal((await kit.admin.tufStatus()).root.signed.version, 2)
})

test('key holders are notified when a new root is due, and nothing unverifiable is served until then', async (t) => {
  let offset = 0
  const kit = await startKit(t, { now: () => new Date(Date.now() + offset) })
  const { keygen, next, sign, publish } = await ceremony(t, kit)
  await publishRelease(kit, '1.1.0')
  await keygen('anna')
  await next('two.json', 1, ['anna'], '--expires', '60d')
  await sign('two.json', 'anna')
  assert.equal((await publish('two.json')).code, 0)
  const notices = async () => (await kit.admin.listNotifications({ query: { kind: 'update_root.due' } })).items
  await runJob(kit.app, 'renew_update_metadata')
  assert.deepEqual([(await kit.admin.tufStatus()).due, await notices()], [null, []])

  await kit.db.inTenant(kit.tenant, async (tx) => {
    await tx
      .updateTable('signing_keys')
      .set({ state: 'retired' })
      .where('tenant_id', '=', kit.tenant)
      .where('purpose', '=', 'tuf-targets')
      .execute()
    await kit.app.changes.record(tx, kit.tenant, [{ kind: 'trust', subject: kit.tenant }])
  })
  await publishRelease(kit, '1.2.0')
  for (let i = 0; i < 3; i++) await runJob(kit.app, 'renew_update_metadata')
  assert.match((await kit.admin.tufStatus()).due ?? '', /does not list the current signing keys/)
  assert.equal((await notices()).length, 1)
  const client = await tufClient(kit)
  assert.equal(await client.get('1.2.0/linux/x64/client.tar.gz'), undefined, 'signed metadata stay in force')
  await next('three.json', 1, ['anna'], '--expires', '60d')
  await sign('three.json', 'anna')
  assert.equal((await publish('three.json')).code, 0)
  assert.deepEqual(await client.get('1.2.0/linux/x64/client.tar.gz'), contentOf('1.2.0'))
  offset = 40 * day
  await runJob(kit.app, 'renew_update_metadata')
  assert.match((await notices())[0]!.detail, /expires at/)
})

test('the command creates, uploads, publishes, widens, pauses and halts a release', async (t) => {
  const kit = await startKit(t)
  const { ok, run, file } = await ceremony(t, kit)
  const bytes = Buffer.alloc(3_000_000, 'client')
  await writeFile(file('client.tar.gz'), bytes)
  await ok('release', 'create', '1.4.0', '--severity', 'high')
  await ok('release', 'update', '1.4.0', '--mandatory', '--notes', 'Faster.')
  const { err } = await run('release', 'upload', '1.4.0', file('client.tar.gz'), '--platform', 'linux', '--arch', 'x64')
  assert.match(err, /3\.0 MB of 3\.0 MB \(100 %\)/)
  assert.match(await ok('release', 'packages', '1.4.0'), new RegExp(sha256(bytes)))
  const [, id = ''] = /(pkg_\w+)/.exec(await ok('release', 'packages', '1.4.0')) ?? []
  await ok('release', 'download', id, file('copy'))
  assert.deepEqual(await readFile(file('copy')), bytes)
  assert.match(await ok('release', 'publish', '1.4.0', '--percent', '10'), /published/)
  assert.match(await ok('release', 'rollout', '1.4.0', '50'), /rollout.percent +50/)
  assert.match(await ok('release', 'pause', '1.4.0', '--reason', 'slow'), /paused/)
  assert.match(await ok('release', 'resume', '1.4.0'), /published/)
  assert.match(await ok('release', 'promote', '1.4.0'), /channel +stable/)
  assert.match(await ok('--json', 'release', 'list', '--status', 'published'), /"version":"1\.4\.0"/)
  assert.match(await ok('release', 'halt', '1.4.0', '--reason', 'broken', '--yes'), /halted/)
  assert.match(await ok('release', 'withdraw', '1.4.0'), /withdrawn/)
  assert.match(await ok('update', 'status'), /root_version +1/)
  assert.match(await ok('update', 'metadata', '1.root.json'), /"_type": "root"/)
  const device = await enrollOnChannel(kit, 'annas-laptop')
  const question = ['--platform', 'linux', '--arch', 'x64', '--installed', '1.0.0']
  assert.match(await ok('update', 'offered', device.id, ...question), /client_version.current +1\.0\.0/)
  assert.equal((await run('release', 'upload', '1.4.0', file('none'), '--platform', 'linux', '--arch', 'x64')).code, 2)
  await copyFile(file('client.tar.gz'), file('two words'))
  await ok('release', 'create', '1.5.0')
  const wrong = await run('release', 'upload', '1.5.0', file('two words'), '--platform', 'linux', '--arch', 'x64')
  assert.deepEqual([wrong.code, /filename/.test(wrong.err)], [1, true])
  await ok('release', 'delete', '1.5.0', '--yes')
})
