import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiError } from '@holdfast/sdk'
import { sql } from 'kysely'
import { bearer, call, operation } from '../support/actors/all-callers.ts'
import { makeUser } from '../support/actors/people.ts'
import { createClock, type Kit, runJob, startKit } from '../support/deployment/deployment.ts'
import { group, people, person, push, snapshotOf, type User, userOf } from '../support/providers/directory-snapshots.ts'

/** Everything that a directory may change, as the database has it. */
const tables = async ({ db, tenant }: Kit) => {
  const all: unknown[] = []
  for (const table of ['users', 'groups', 'group_members', 'user_roles', 'admin_sessions', 'directories'])
    all.push(
      await db.inTenant(tenant, async (tx) => {
        const { rows } = await sql<{ row: unknown }>`
          select to_jsonb(t) as row from ${sql.table(table)} t where tenant_id = ${tenant} order by 1`.execute(tx)
        return rows
      }),
    )
  return JSON.stringify(all)
}

test('a directory is followed: who comes, who changes, who goes and who comes back', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const all = people(30)
  const groups = [group('sales', all.slice(0, 20)), group('research', all.slice(10))]
  const first = await push(admin, snapshotOf(all, groups))
  assert.equal(first.status, 'applied')
  assert.deepEqual(first.counts, {
    users: { created: 30, updated: 0, suspended: 0, reactivated: 0, unchanged: 0 },
    groups: { created: 2, updated: 0, emptied: 0, unchanged: 0 },
    memberships: { added: 40, removed: 0 },
  })
  const made = await userOf(kit, person(7))
  assert.deepEqual(
    [made?.source, made?.external_id, made?.email, made?.display_name, made?.password_set],
    ['directory', 'u-7', 'person7@example.com', 'Person 7', false],
  )
  assert.equal((await push(admin, snapshotOf(all, groups))).status, 'unchanged')

  const next = [
    ...all.slice(2),
    person(1, { active: false }),
    person(30, { emails: [], groups: ['g-sales'], userName: 'P\u00c9RSON30' }),
    person(31, { active: false }),
  ].map((u) => (u.externalId === 'u-5' ? { ...u, userName: 'renamed5', displayName: 'Renamed' } : u))
  const second = await push(admin, snapshotOf(next, [group('sales', all.slice(2, 20)), group('lab', all.slice(10))]))
  assert.deepEqual(second.status, 'held', 'a group of 20 that is gone is a mass change')
  const third = await push(
    admin,
    snapshotOf(next, [{ ...groups[0]!, members: groups[0]!.members.slice(2) }, groups[1]!]),
  )
  assert.deepEqual(third.counts, {
    users: { created: 1, updated: 1, suspended: 2, reactivated: 0, unchanged: 27 },
    groups: { created: 0, updated: 1, emptied: 0, unchanged: 1 },
    memberships: { added: 1, removed: 2 },
  })
  assert.deepEqual(
    third.diff.map((d) => `${d.change} ${d.name}`),
    [
      'user_created p\u00e9rson30',
      'user_updated renamed5',
      'user_suspended person1',
      'user_suspended person0',
      'group_members_changed sales',
    ],
  )
  assert.equal((await userOf(kit, person(0)))?.status, 'suspended')
  assert.equal((await userOf(kit, person(31)))?.status, undefined, 'who may not come in is not made')

  const back = await push(admin, snapshotOf([...next, all[0]!], groups))
  assert.deepEqual([back.counts.users.reactivated, back.counts.users.suspended], [1, 0])
  const kept = await push(admin, snapshotOf([...next.filter((u) => u.externalId !== 'u-0'), all[0]!], groups))
  assert.equal(kept.status, 'unchanged', 'the order says nothing')

  const { items: runs } = await admin.listDirectoryRuns({ query: { provider: 'CORP' } })
  assert.deepEqual(
    runs.map((r) => r.status),
    ['unchanged', 'applied', 'applied', 'superseded', 'unchanged', 'applied'],
  )
  assert.deepEqual((await admin.getDirectoryRun({ params: { run_id: third.run_id } })).diff, third.diff)
  const [status] = (await admin.getDirectorySyncStatus()).items
  assert.deepEqual([status?.users, status?.groups, status?.held_run], [{ active: 30, suspended: 1 }, 2, null])
  assert.equal(status?.last_run?.run_id, kept.run_id)
  const events = (await admin.listAuditEvents({ query: { kind: 'user.changed', limit: 200 } })).items
  const ofRuns = events.filter((e) => e.details?.provider === 'corp')
  const operations = Map.groupBy(ofRuns, (e) => ('operation' in e ? e.operation : ''))
  assert.deepEqual(
    ['create', 'update', 'suspend', 'reactivate'].map((o) => operations.get(o)?.length),
    [31, 1, 2, 1],
  )
  assert.equal((await admin.listAuditEvents({ query: { kind: 'directory.synced' } })).items.length, 6)
})

test('a snapshot too long to be read at once is refused as a short one is, and taken once by its key', async (t) => {
  const kit = await startKit(t)
  const snapshot = snapshotOf(people(1500), [group('all', people(1500))], { dry_run: true })
  const send = (body: object) =>
    call(
      kit,
      operation('ingestDirectorySnapshot'),
      () => ({ ...bearer(kit.adminKey)('', ''), 'idempotency-key': 'k' }),
      body,
    )
  const wrong = await send({ ...snapshot, users: snapshot.users.with(1499, person(1499, { userName: '' })) })
  assert.deepEqual([wrong.status, (wrong.json.errors as { field: string }[])[0]?.field], [422, 'users[1499].userName'])
  const first = await send(snapshot)
  assert.deepEqual([first.status, first.headers['idempotency-replayed']], [200, undefined], first.text)
  const again = await send(snapshot)
  assert.deepEqual([again.text, again.headers['idempotency-replayed']], [first.text, 'true'])
  const other = await send({ ...snapshot, users: snapshot.users.with(1499, person(1500)) })
  assert.match(other.text, /was used for another request/)
})

test('what looks like a mistake is held until somebody confirms it, and then judged anew', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const all = people(60)
  const groups = [group('large', all.slice(0, 10)), group('small', all.slice(40, 45))]
  assert.equal((await push(admin, snapshotOf(all, groups))).status, 'applied', 'a first snapshot is no mass change')
  const before = await tables(kit)
  const held = async (users: User[], g = groups) => {
    const run = await push(admin, snapshotOf(users, g, { dry_run: true }))
    assert.equal(run.status, 'dry_run')
    return run.held_because.map(({ rule, removed, of, most, group: name }) => [rule, removed, of, most, name])
  }
  assert.deepEqual(await held([], []), [
    ['empty_snapshot', 60, 60, 0, null],
    ['users_removed', 60, 60, 6, null],
    ['group_shrunk', 10, 10, 5, 'large'],
  ])
  assert.deepEqual(await held(all.slice(30)), [
    ['users_removed', 30, 60, 6, null],
    ['group_shrunk', 10, 10, 5, 'large'],
  ])
  assert.deepEqual(await held(all.map((u) => ({ ...u, active: false }))), [['users_removed', 60, 60, 6, null]])
  assert.deepEqual(await held(all.slice(0, 53)), [['users_removed', 7, 60, 6, null]])
  assert.deepEqual(await held(all.slice(0, 54)), [])
  assert.deepEqual(await held(all, [group('large', all.slice(6, 10))]), [['group_shrunk', 6, 10, 5, 'large']])
  assert.deepEqual(await held(all, [group('large', all.slice(5, 10)), group('small', [])]), [])
  assert.equal(await tables(kit), before, 'a dry run changes nothing')

  const half = await push(admin, snapshotOf(all.slice(30), groups))
  assert.deepEqual([half.status, half.counts.users.suspended], ['held', 30])
  assert.equal((await userOf(kit, person(0)))?.status, 'active')
  assert.equal((await admin.getDirectorySyncStatus()).items[0]?.held_run?.run_id, half.run_id)
  const newer = await push(admin, snapshotOf(all.slice(20), groups))
  const late = await call(
    kit,
    { ...operation('confirmDirectoryRun'), path: `/v1/admin/directory-sync/runs/${half.run_id}/confirm` },
    bearer(kit.adminKey),
    {},
  )
  assert.deepEqual(
    [late.status, (await admin.getDirectoryRun({ params: { run_id: half.run_id } })).status],
    [422, 'superseded'],
  )
  const { user_id = '' } = (await userOf(kit, person(3))) ?? {}
  await admin.suspendUser({ body: { user_id } })
  const done = await admin.confirmDirectoryRun({ params: { run_id: newer.run_id }, body: { reason: 'sold' } })
  assert.deepEqual([done.status, done.counts.users.suspended, done.held_because.length > 0], ['applied', 19, true])
  assert.ok(done.confirmed_at)
  const again = await admin.confirmDirectoryRun({ params: { run_id: newer.run_id }, body: {} })
  assert.deepEqual(again, done)
  const [event] = (await admin.listAuditEvents({ query: { kind: 'directory.synced' } })).items
  assert.deepEqual([event?.details?.reason, event?.outcome], ['sold', 'success'])
  const sure = await push(admin, snapshotOf([], [], { confirm_mass_change: true }))
  assert.deepEqual([sure.status, sure.counts.users.suspended, sure.counts.groups.emptied], ['applied', 40, 1])
})

test('undo puts back whom the newest run suspended and moved, where nobody touched them since', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const all = people(40)
  const crew = group('crew', all.slice(0, 20))
  const first = await push(admin, snapshotOf(all, [crew]))
  const before = (await admin.listGroups()).items[0]
  const bad = await push(
    admin,
    snapshotOf([...all.slice(20), person('new')], [{ ...crew, members: ['u-30'] }], { confirm_mass_change: true }),
  )
  assert.deepEqual([bad.counts.users.suspended, bad.counts.memberships], [20, { added: 1, removed: 20 }])
  const idOf = async (n: number) => (await userOf(kit, person(n)))?.user_id ?? ''
  await admin.suspendUser({ body: { user_id: await idOf(1) } })
  await admin.reactivateUser({ body: { user_id: await idOf(2) } })
  await admin.changeGroup({
    body: { operation: 'update', group_id: before!.group_id, group: { add_members: [await idOf(3)] } },
  })
  const params = { run_id: bad.run_id }
  await assert.rejects(admin.undoDirectoryRun({ params: { run_id: first.run_id }, body: {} }), { status: 422 })
  const { undone, left, changed, run } = await admin.undoDirectoryRun({ params, body: { reason: 'cut short' } })
  assert.deepEqual([changed, run.undone_at !== null], [true, true])
  assert.deepEqual(undone, { users_reactivated: 18, memberships_added: 19, memberships_removed: 1 })
  assert.deepEqual(left, {
    users_created: 1,
    users_updated: 0,
    users_reactivated: 0,
    groups_created: 0,
    groups_updated: 1,
    users_changed_since: 2,
    memberships_changed_since: 1,
  })
  const statuses = await Promise.all([0, 1, 2].map(async (n) => (await userOf(kit, person(n)))?.status))
  assert.deepEqual(statuses, ['active', 'suspended', 'active'])
  assert.equal((await admin.getGroup({ params: { group_id: before!.group_id } })).member_count, 20)
  assert.equal((await admin.undoDirectoryRun({ params, body: {} })).changed, false)

  // A run that only created users has nothing to undo: an undo keeps created users.
  await push(admin, snapshotOf([...all, person('new')], [crew]))
  const again = await push(admin, snapshotOf([...all, person('new'), person('newer')], [crew]))
  assert.equal(again.counts.users.created, 1)
  await assert.rejects(admin.undoDirectoryRun({ params: { run_id: again.run_id }, body: {} }), (e: ApiError) => {
    assert.match(`${e.status} ${e.message}`, /^422 .*nothing to undo/)
    return true
  })
  assert.equal((await admin.getDirectoryRun({ params: { run_id: again.run_id } })).undone_at, null)
})

test('only what the directory made is touched, and nobody is taken over by a name', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { admin } = kit
  const local = await makeUser(kit, 'person1', ['tenant_admin'])
  await admin.changeUser({ body: { operation: 'update', user_id: local, user: { email: 'person2@example.com' } } })
  await admin.changeGroup({ body: { operation: 'create', group: { name: 'Sales', members: [local] } } })
  const { group: own } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'local' } } })
  const all = people(10)
  const run = await push(
    admin,
    snapshotOf(all, [group('sales', all), group('lab', all), { ...group('odd', all), members: ['nobody', 'u-4'] }]),
  )
  assert.deepEqual(
    run.problems.map((p) => `${p.problem} ${p.external_id}`),
    ['unknown_member g-odd', 'username_taken u-1', 'group_name_taken g-sales'],
  )
  assert.deepEqual([run.counts.users.created, run.counts.groups.created, run.problem_count], [9, 2, 3])
  const same = await admin.getUser({ params: { user_id: local } })
  assert.deepEqual([same.source, same.external_id, same.status], ['local', null, 'active'])
  assert.equal((await userOf(kit, person(2)))?.email, 'person2@example.com', 'two may have one address')

  // An administrator adds a local user to a directory group: an undo by the directory does not remove it.
  const lab = (await admin.listGroups({ query: { q: 'lab' } })).items[0]!
  await admin.changeGroup({ body: { operation: 'update', group_id: lab.group_id, group: { add_members: [local] } } })
  const without = await push(admin, snapshotOf(all.slice(4), [group('lab', all.slice(4))]))
  assert.deepEqual([without.status, without.counts.users.suspended], ['applied', 3])
  assert.equal((await admin.getGroup({ params: { group_id: lab.group_id } })).member_count, 7)
  assert.equal((await admin.getGroup({ params: { group_id: own.group_id } })).member_count, 0)
  assert.equal((await admin.getUser({ params: { user_id: local } })).status, 'active')

  // A directory does not lift a suspension by an administrator.
  const suspended = await userOf(kit, person(5))
  await admin.suspendUser({ body: { user_id: suspended!.user_id } })
  const both = await userOf(kit, person(3))
  assert.equal((await admin.suspendUser({ body: { user_id: both!.user_id } })).changed, true, 'takes it over')
  const back = await push(admin, snapshotOf(all, [group('lab', all)]))
  assert.deepEqual(back.counts.users.reactivated, 2)
  for (const { user_id } of [suspended!, both!])
    assert.equal((await admin.getUser({ params: { user_id } })).status, 'suspended')

  // A user absent for 30 days is deleted; an inactive one is not.
  await push(admin, snapshotOf([...all.slice(0, 8), person(8, { active: false })], [group('lab', all)]))
  clock.advance(29 * 86_400)
  assert.equal(await runJob(kit.app, 'delete_absent_users'), 0)
  clock.advance(2 * 86_400)
  assert.equal(await runJob(kit.app, 'delete_absent_users'), 1)
  assert.equal(await userOf(kit, person(9)), undefined)
  assert.equal((await userOf(kit, person(8)))?.status, 'suspended')
})
