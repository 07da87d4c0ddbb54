import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '@holdfast/sdk'
import { openGateway } from '@holdfast/sdk'
import { sql } from 'kysely'
import pg from 'pg'
import { decodeId, encodeId } from '../../src/kernel/ids.ts'
import { call, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { makeUser, signInAs, untilStatus } from '../support/actors/people.ts'
import { provision, pushed, scimUser } from '../support/clients/scim-client.ts'
import { type Kit, type Replica, startKit, times } from '../support/deployment/deployment.ts'
import { everyEvent } from '../support/domain/audit-events.ts'
import { group, people, person, push, snapshotOf } from '../support/providers/directory-snapshots.ts'

const idsOf = async (kit: Kit) => {
  const { items } = await kit.admin.listUsers({ query: { source: 'directory', limit: 200 } })
  return new Map(items.map((u) => [u.external_id, u.user_id]))
}
const statusOf = async (kit: Kit, user_id: string | undefined) =>
  (await kit.admin.getUser({ params: { user_id: user_id ?? '' } })).status

test('what directories may do', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  /** Each part in a tenant of its own. */
  const part = (what: string, work: (kit: Kit) => Promise<void>) =>
    t.test(what, async () => {
      const tenant = await kit.newTenant()
      const adminKey = await kit.keyFor('tenant_admin', tenant)
      await work({ ...kit, tenant, adminKey, admin: kit.clientFor(adminKey) })
    })
  await part('twenty snapshots at once on two replicas: each is taken whole, in order of time, or refused', atOnce)
  await part('a directory of another tenant is nobody else\u2019s, by name or by run', ofAnother)
  await part('a run that dies in the middle leaves nothing but its failure', dies)
  await t.test('nobody loses their last administrator to a directory, nor anyone to a weaker caller', () =>
    byAdministrators(kit),
  )
})

test('who is suspended by a run is out on every replica at once: session, device, connection', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin, publicUrl: baseUrl } = kit
  const [here, there] = kit.replicas as [Replica, Replica]
  await push(admin, snapshotOf(people(10)))
  // A user who has signed in, as directory users will through their provider.
  const user_id = await makeUser(kit, 'signed-in', ['viewer'])
  const session = await signInAs(kit, 'signed-in')
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`update users set source = 'directory', password_phc = null, external_id = 'u-signed-in',
      directory_id = (select directory_id from directories where tenant_id = ${kit.tenant})
      where tenant_id = ${kit.tenant} and user_id = ${decodeId('user', user_id)}`.execute(tx),
  )
  const pool = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  const { gateway, secret } = await admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name: 'gw' } })
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'], via: ['pool'] }]
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0, user_id } })
  const onThere = { publicUrl: baseUrl, dispatcher: there.dispatcher }
  const device = await enrollRaw(onThere, token)
  const poll = () => call(onThere, operation('policyDigest'), device.caller)
  const names = { gatewayId: gateway.gateway_id, tenantId: encodeId('tenant', kit.tenant) }
  const opened = openGateway({ baseUrl, secret, ...names, dispatcher: there.dispatcher })
  await opened.pull()
  const session_id = encodeId('vpn_session', crypto.randomUUID())
  await opened.meter([{ session_id, device_id: device.id, state: 'active', rx_bytes: 1, tx_bytes: 1 }])
  assert.equal((await session.get('/v1/admin/me', there)).status, 200)
  assert.equal(opened.state?.peers.size, 1)
  assert.equal((await poll()).status, 200)

  const pulled = opened.pull({ wait: 20 })
  const run = await push(kit.clientFor(kit.adminKey, here), snapshotOf(people(10)))
  const applied = performance.now()
  assert.deepEqual([run.status, run.counts.users.suspended], ['applied', 1])
  await untilStatus(poll, 401)
  await untilStatus(() => session.get('/v1/admin/me', there), 401)
  await pulled
  t.diagnostic(`out after ${Math.round(performance.now() - applied)} ms`)
  assert.equal(opened.state?.peers.size, 0)
  assert.deepEqual([...(opened.state?.revokedSessions.keys() ?? [])], [session_id])
  assert.equal((await poll()).status, 401)
  assert.deepEqual((await admin.listSessions()).items, [])
})

async function byAdministrators(kit: Kit): Promise<void> {
  const { admin } = kit
  await push(admin, snapshotOf(people(10)))
  const ids = await idsOf(kit)
  const grant = (n: number, role: 'tenant_admin' | 'platform_admin') =>
    admin.grantRole({ body: { user_id: ids.get(`u-${n}`) ?? '', role } })
  await grant(0, 'tenant_admin')
  await grant(1, 'tenant_admin')
  await grant(2, 'platform_admin')
  const one = await push(admin, snapshotOf([...people(9, 1)]))
  assert.deepEqual([one.counts.users.suspended, one.problem_count], [1, 0], 'another one is left')
  const last = await push(admin, snapshotOf([...people(8, 2)]))
  assert.deepEqual(
    [last.counts.users.suspended, last.problems.map((p) => [p.problem, p.external_id])],
    [0, [['last_administrator', 'u-1']]],
  )
  assert.equal(await statusOf(kit, ids.get('u-1')), 'active')

  const weaker = await kit.as('tenant_admin')
  const refused = await push(
    weaker,
    snapshotOf([person(2, { userName: 'taken-over', active: false }), ...people(7, 3)]),
  )
  assert.deepEqual(
    refused.problems.map((p) => [p.problem, p.external_id]),
    [
      ['stronger_user', 'u-2'],
      ['last_administrator', 'u-1'],
    ],
  )
  const user = await admin.getUser({ params: { user_id: ids.get('u-2') ?? '' } })
  assert.deepEqual([user.username, user.status], ['person2', 'active'])
  for (const role of ['operator', 'viewer', 'security_admin'] as const)
    await assert.rejects(push(await kit.as(role), snapshotOf([])), { status: 403 })
  await byRecycledIds(kit, ids)
}

/** Users whom their directory no longer named, and whom an administrator reactivated. */
async function byRecycledIds(kit: Kit, ids: ReadonlyMap<string | null, string>): Promise<void> {
  const { admin } = kit
  const [user_id = '', other = ''] = [ids.get('u-0'), ids.get('u-1')]
  await admin.changeUser({ body: { operation: 'reactivate', user_id } })
  await admin.revokeRole({ body: { user_id: other, role: 'tenant_admin' } })
  const run = await push(admin, snapshotOf([person(0, { userName: 'successor' }), ...people(8, 2)]))
  assert.deepEqual(
    [run.counts.users.created, run.problems.map((p) => [p.problem, p.external_id])],
    [0, [['last_administrator', 'u-0']]],
  )
  assert.equal(await statusOf(kit, user_id), 'active')

  const tenant = await kit.newTenant()
  const ofTenant = await kit.as('tenant_admin', tenant)
  const { scim } = await provision({ ...kit, admin: ofTenant })
  const [sole = ''] = await pushed(scim, ['sole'])
  assert.equal((await scim.delete(`Users/${sole}`)).status, 204)
  await ofTenant.changeUser({ body: { operation: 'reactivate', user_id: sole } })
  await ofTenant.grantRole({ body: { user_id: sole, role: 'tenant_admin' } })
  const refused = await scim.post('Users', scimUser('sole', { userName: 'successor' }))
  assert.deepEqual([refused.status, /nobody else could administer/.test(refused.text)], [403, true], refused.text)
  assert.equal((await ofTenant.getUser({ params: { user_id: sole } })).status, 'active')
}

async function atOnce(kit: Kit): Promise<void> {
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica)) as [Client, Client]
  const once = snapshotOf(people(5), [group('all', people(5))])
  const same = await times(20, (i) => push(clients[i % 2 ? 1 : 0], once))
  assert.equal(new Set(same.map((r) => r.run_id)).size, 1, 'the same snapshot has one run')
  assert.equal((await kit.admin.listDirectoryRuns()).items.length, 1)

  const bodies = Array.from({ length: 20 }, (_, i) => {
    const users = people(5 + i)
    return snapshotOf(users, [group('all', users)])
  })
  const done = await Promise.allSettled(bodies.map((body, i) => push(clients[i % 2 ? 1 : 0], body)))
  for (const d of done) if (d.status === 'rejected') assert.equal(d.reason?.status, 422, String(d.reason))
  const newest = bodies.findLastIndex((_, i) => done[i]?.status === 'fulfilled')
  const [state] = (await kit.admin.getDirectorySyncStatus()).items
  assert.equal(newest, 19, 'the newest is never refused')
  assert.deepEqual([state?.generated_at, state?.users.active], [bodies[newest]?.generated_at, 24])
  const [all] = (await kit.admin.listGroups()).items
  assert.equal(all?.member_count, 24)

  const held = await push(kit.admin, snapshotOf([]))
  const confirmed = await times(20, (i) =>
    clients[i % 2 ? 1 : 0].confirmDirectoryRun({ params: { run_id: held.run_id }, body: {} }),
  )
  assert.deepEqual(new Set(confirmed.map((r) => r.finished_at)).size, 1, 'a run is confirmed once')
  const undone = await times(20, (i) =>
    clients[i % 2 ? 1 : 0].undoDirectoryRun({ params: { run_id: held.run_id }, body: {} }),
  )
  assert.equal(undone.filter((u) => u.changed).length, 1, 'a run is undone once')
  assert.equal((await kit.admin.listGroups()).items[0]?.member_count, 24)
}

async function ofAnother(kit: Kit): Promise<void> {
  const theirs = await kit.as('tenant_admin', await kit.newTenant())
  await push(kit.admin, snapshotOf(people(5), [group('a', people(5))]))
  const run = await push(theirs, snapshotOf(people(3), [group('a', people(3))]))
  assert.deepEqual(run.counts.users.created, 3)
  const [own] = (await kit.admin.getDirectorySyncStatus()).items
  assert.equal(own?.users.active, 5)
  const params = { run_id: run.run_id }
  await assert.rejects(kit.admin.getDirectoryRun({ params }), { status: 404 })
  await assert.rejects(kit.admin.confirmDirectoryRun({ params, body: {} }), { status: 404 })
  await assert.rejects(kit.admin.undoDirectoryRun({ params, body: {} }), { status: 404 })
}

async function dies(kit: Kit): Promise<void> {
  const { admin } = kit
  await push(admin, snapshotOf(people(20), [group('all', people(20))]))
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  const facts = async () =>
    (
      await owner.query(`select (select jsonb_agg(to_jsonb(u) order by user_id) from users u) as users,
        (select jsonb_agg(to_jsonb(g) order by group_id) from groups g) as groups,
        (select count(*) from group_members) as members, (select count(*) from directory_run_contents) as contents,
        (select count(*) from ${everyEvent} as e where kind = 'user.changed') as events`)
    ).rows
  const before = await facts()
  const body = snapshotOf(people(20, 1), [group('all', people(10, 5)), group('new', people(5, 3))])
  for (const [table, when] of [
    ['users', 'update'],
    ['groups', 'insert'],
    ['group_members', 'delete'],
    ['audit_arrivals', 'insert'],
    ['directory_runs', 'insert'],
    ['changes', 'insert'],
  ]) {
    // The failure itself is recorded in such a row, so the trigger excludes it.
    const only =
      table === 'directory_runs'
        ? `when (new.status <> 'failed')`
        : table === 'audit_arrivals'
          ? `when (new.kind = 'directory.synced')`
          : ''
    await owner.query(`create or replace function die() returns trigger language plpgsql as $$ begin raise 'disk full'; end $$;
      create trigger die before ${when} on ${table} for each row ${only} execute function die()`)
    await assert.rejects(push(admin, { ...body }), { status: 500 }, table)
    await owner.query(`drop trigger die on ${table}`)
    assert.deepEqual(await facts(), before, table)
  }
  await owner.end()
  const { items } = await admin.listDirectoryRuns()
  assert.deepEqual(
    items.map((r) => r.status),
    [...Array(6).fill('failed'), 'applied'],
  )
  const run = await push(admin, body)
  assert.deepEqual(
    [run.status, run.counts.users],
    ['applied', { created: 1, updated: 0, suspended: 1, reactivated: 0, unchanged: 19 }],
  )
  assert.ok(decodeId('directory_run', run.run_id))
}
