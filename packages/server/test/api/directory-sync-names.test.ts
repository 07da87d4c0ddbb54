import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { bearer, call, operation } from '../support/clients/api-calls.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import {
  directoryGroup,
  directoryUser,
  directoryUsers,
  pushSnapshot,
  snapshotOf,
  type User,
  userOf,
} from '../support/providers/directory-snapshots.ts'

const refusal = async (kit: Kit, body: unknown) => {
  const { status, json, text } = await call(kit, operation('ingestDirectorySnapshot'), bearer(kit.adminKey), body)
  assert.ok(status === 422 || status === 400, text)
  return json as { detail: string; errors?: { field: string }[] }
}
const fieldOf = async (kit: Kit, body: unknown) => (await refusal(kit, body)).errors?.[0]?.field

test('names can move between entries, and those of removed users are free', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const [ann, ben, cat, dan] = [
    directoryUser('ann'),
    directoryUser('ben'),
    directoryUser('cat'),
    directoryUser('dan'),
  ] as [User, User, User, User]
  await pushSnapshot(
    admin,
    snapshotOf([ann, ben, cat, dan], [directoryGroup('one', [ann]), directoryGroup('two', [ben])]),
  )
  const ids = new Map(
    (await admin.listUsers({ query: { source: 'directory' } })).items.map((u) => [u.external_id, u.user_id]),
  )
  const named = (u: User, by: User): User => ({ ...u, userName: by.userName, emails: by.emails! })
  const swapped = [named(ann, ben), named(ben, cat), named(cat, ann), dan]
  const groups = [
    { ...directoryGroup('one', [ann]), displayName: 'two' },
    { ...directoryGroup('two', [ben]), displayName: 'ONE' },
  ]
  const run = await pushSnapshot(admin, snapshotOf(swapped, groups))
  assert.deepEqual(
    [run.status, run.counts.users.updated, run.counts.groups.updated, run.problems],
    ['applied', 3, 2, []],
  )
  for (const u of swapped) {
    const user = await admin.getUser({ params: { user_id: ids.get(u.externalId)! } })
    assert.deepEqual([user.username, user.email], [u.userName, u.emails![0]])
  }
  // Another entry with the name of a user who has left is another user.
  const rehired = { ...dan, externalId: 'u-dan-2' }
  const next = await pushSnapshot(admin, snapshotOf([...swapped.slice(0, 3), rehired], groups))
  assert.deepEqual([next.counts.users.created, next.counts.users.suspended, next.problems], [1, 1, []])
  const gone = await admin.getUser({ params: { user_id: ids.get('u-dan')! } })
  assert.deepEqual(
    [gone.status, gone.email, gone.username.startsWith('persondan~')],
    ['suspended', dan.emails![0], true],
  )
  const fresh = await userOf(kit, dan)
  assert.deepEqual([fresh?.external_id, fresh?.email], ['u-dan-2', dan.emails![0]])
})

test('a contradictory, outdated or unreadable snapshot is refused as a whole', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const all = directoryUsers(5)
  const of = (users: unknown[], groups: unknown[] = [], more = {}) => snapshotOf(users as User[], groups as never, more)
  const fields: [unknown, string | undefined][] = [
    [of([...all, directoryUser(1, { userName: 'other' })]), 'users[5].externalId'],
    [of([...all, directoryUser(9, { userName: 'PERSON3' })]), 'users[5].userName'],
    [of(all, [directoryGroup('a', all), directoryGroup('b', all), directoryGroup('a', [])]), 'groups[2].externalId'],
    [of([{ ...all[0], nickName: 'x' }]), 'users[0].nickName'],
    [{ ...of(all), schemas: [] }, 'schemas'],
    [of(all, [], { full: false }), 'full'],
    [of(all, [], { provider: ' corp' }), 'provider'],
    [of(all, [], { provider: 'corp\u001b[31m' }), 'provider'],
    [of(all, [], { snapshot_id: 'monday\u009b31m' }), 'snapshot_id'],
    [of([{ userName: 'x' }]), 'users[0].externalId'],
    [of(all, [], { generated_at: new Date(Date.now() + 3_600_000).toISOString() }), 'generated_at'],
  ]
  for (const [body, field] of fields) assert.equal(await fieldOf(kit, body), field)
  assert.match((await refusal(kit, of([directoryUser(1, { displayName: 'a\0b' })]))).detail, /NUL/)
  assert.match((await refusal(kit, of([directoryUser('\ud800')]))).detail, /surrogate/)
  assert.deepEqual((await admin.getDirectorySyncStatus()).items, [], 'nothing of it is there')

  const body = snapshotOf(all)
  const run = await pushSnapshot(admin, body)
  assert.equal((await pushSnapshot(admin, body)).run_id, run.run_id, 'the same again is the same run')
  const before = Date.parse(body.generated_at)
  const dated = (ms: number, more = {}) => ({
    ...snapshotOf([]),
    generated_at: new Date(before + ms).toISOString(),
    ...more,
  })
  const stale = await refusal(kit, dated(0))
  assert.match(stale.detail, new RegExp(`must be later than ${body.generated_at}`))
  assert.equal(await fieldOf(kit, dated(-1000)), 'generated_at')
  assert.equal(await fieldOf(kit, dated(500, { snapshot_id: body.snapshot_id })), 'snapshot_id')
  const odd = await pushSnapshot(
    admin,
    snapshotOf([...all, directoryUser('6', { userName: 'jane doe' }), directoryUser(7, { emails: ['none'] })]),
  )
  assert.deepEqual(
    odd.problems.map((p) => p.problem),
    ['username_refused', 'email_refused'],
  )
  assert.equal(odd.counts.users.created, 1)
})

test('an externalId with control characters is skipped, and the run shows it without them', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const [ann, ben, cat] = [directoryUser('ann'), directoryUser('ben'), directoryUser('cat')] as const
  await pushSnapshot(admin, snapshotOf([ann, ben], [directoryGroup('staff', [ann, ben])]))
  // An earlier version stored such an entry; it stays as it is.
  const stored = { ...ben, externalId: 'u-ben\u001b[2J' }
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`update users set external_id = ${stored.externalId}
      where tenant_id = ${kit.tenant} and external_id = ${ben.externalId}`.execute(tx),
  )
  const ids = ['e2\u001b[2J', 'e2\u009b31m', 'e2\nx', 'e2\u202ex', 'e2\u2028x']
  const odd = ids.map((externalId, i) => directoryUser(i, { externalId }))
  const oddGroups = ids.map((externalId, i) => ({ ...directoryGroup(`odd ${i}`, [cat, ...odd]), externalId }))
  const named = { ...directoryGroup('staff', [ann, stored, ...odd]), displayName: 'staff' }
  const lost = { ...directoryGroup('lost', []), displayName: 'lost\u001b[2J', members: ['nobody'] }
  const run = await pushSnapshot(admin, snapshotOf([...odd, ann, stored, cat], [...oddGroups, named, lost]))
  assert.deepEqual(
    run.problems.map(({ problem, external_id }) => [problem, external_id]),
    [
      ...[...ids, stored.externalId, ...ids].map((id) => ['external_id_refused', id.replace(/[^ -~]/gu, ' ')]),
      ['unknown_member', 'g-lost'],
    ],
  )
  assert.match(run.problems[0]!.detail, /^externalId must not contain control characters/)
  assert.doesNotMatch(JSON.stringify(run), /\\u00|\\n|[^ -~]/)
  assert.deepEqual([run.counts.users.created, run.counts.users.suspended, run.counts.groups.created], [1, 0, 1])
  const users = (await admin.listUsers({ query: { source: 'directory' } })).items
  assert.deepEqual(users.map((u) => [u.username, u.status]).sort(), [
    ['personann', 'active'],
    ['personben', 'active'],
    ['personcat', 'active'],
  ])
  const groups = (await admin.listGroups({ query: {} })).items
  assert.deepEqual(groups.map((g) => g.name).sort(), ['lost [2J', 'staff'])
})

test('the dry run of a new directory skips the same names as its first run', async (t) => {
  const kit = await startKit(t)
  const body = snapshotOf([directoryUser(1), directoryUser(2, { userName: 'admin' })])
  const dry = await kit.admin.ingestDirectorySnapshot({ body: { ...body, dry_run: true } })
  const first = await kit.admin.ingestDirectorySnapshot({ body })
  assert.equal(first.counts.users.created, 1)
  assert.deepEqual([dry.counts, dry.problems], [first.counts, first.problems])
})
