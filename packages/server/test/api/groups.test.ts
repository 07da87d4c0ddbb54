import assert from 'node:assert/strict'
import { test } from 'node:test'
import { versionOf } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { refusedWith } from '../support/actors/sign-in.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

test('a group that the published policy names stays until a policy without it is published', async (t) => {
  const { admin } = await startKit(t)
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'staff' } } })
  const { group_id } = group
  const policy = (from: object) => ({
    schema: 'holdfast.policy/1',
    resources: { web: { cidrs: ['10.0.0.0/24'] } },
    rules: [{ id: 'staff-to-web', action: 'allow', from, to: ['web'] }],
  })
  await admin.publishPolicy({ body: { channel: 'stable', policy: policy({ groups: ['staff'] }) } })
  const remove = () => admin.changeGroup({ body: { operation: 'delete', group_id } })
  await assert.rejects(remove(), refusedWith(422, /staff-to-web/))
  await admin.publishPolicy({ body: { channel: 'stable', policy: policy({ any: true }) } })
  assert.equal((await remove()).changed, true)
})

test('the members of a group move by list and by difference, and each who moved is told', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const ids = await Promise.all(
    ['a', 'b', 'c'].map(async (n) => {
      const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: n } } })
      return user.user_id
    }),
  )
  const [a, b, c] = ids as [string, string, string]
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'g', members: [a, b] } } })
  assert.equal(group.member_count, 2)
  const { group_id } = group
  const told: string[] = []
  kit.app.changes.listen('waiters', {
    changed: (_tenant, list) =>
      told.push(...list.filter((x) => x.kind === 'user').map((x) => encodeId('user', x.subject))),
    forgotten: () => {},
  })
  const change = async (members: object) => {
    told.length = 0
    const done = await admin.changeGroup({ body: { operation: 'update', group_id, group: members } })
    return [done.changed, done.group.member_count, [...told].sort()]
  }
  assert.deepEqual(await change({ members: [b, c] }), [true, 2, [a, c].sort()])
  assert.deepEqual(await change({ members: [c, b] }), [false, 2, []])
  assert.deepEqual(await change({ add_members: [b], remove_members: [a] }), [false, 2, []])
  assert.deepEqual(await change({ add_members: [a], remove_members: [b] }), [true, 2, [a, b].sort()])
  const inGroup = await admin.listUsers({ query: { group_id } })
  assert.deepEqual(
    inGroup.items.map((u) => u.username),
    ['a', 'c'],
  )
  await assert.rejects(change({ members: [a], add_members: [b] }), refusedWith(422, /group\.members/))
  await assert.rejects(change({ add_members: [a], remove_members: [a] }), refusedWith(422, /remove_members\[0\]/))

  const parallel = await times(10, (i) =>
    admin.changeGroup({
      body: { operation: 'update', group_id, group: i % 2 ? { add_members: [b] } : { remove_members: [b] } },
    }),
  )
  assert.equal(parallel.length, 10)
  const gone = await admin.changeGroup({ body: { operation: 'delete', group_id } })
  assert.equal(gone.changed, true)
  assert.deepEqual((await admin.listUsers({ query: { group_id } })).items, [])
})

test('lists page in order, filter, and keep tenants apart', async (t) => {
  const { admin, as, newTenant } = await startKit(t)
  const theirs = await newTenant()
  const other = await as('tenant_admin', theirs)
  await other.changeUser({ body: { operation: 'create', user: { username: 'u-foreign' } } })
  for (let i = 0; i < 7; i++) {
    const username = `u${i % 2 ? 'X' : 'x'}-${i}`
    // Usernames are shown in lower case: names that differ only in case are the same.
    await admin.changeUser({ body: { operation: 'create', user: { username, email: `${i}@example.org` } } })
    await admin.changeGroup({ body: { operation: 'create', group: { name: `g%${i}` } } })
  }
  const walk = async (sort: 'username' | '-created_at') => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await admin.listUsers({ query: { limit: 3, sort, ...(cursor && { cursor }) } })
      seen.push(...page.items.map((u) => u.username))
      cursor = page.next_cursor ?? undefined
    } while (cursor)
    return seen
  }
  const expected = ['admin', ...Array.from({ length: 7 }, (_, i) => `ux-${i}`)]
  assert.deepEqual(await walk('username'), expected)
  assert.deepEqual(await walk('-created_at'), [...expected].reverse())
  assert.deepEqual(
    (await admin.listUsers({ query: { q: 'UX-3' } })).items.map((u) => u.username),
    ['ux-3'],
  )
  assert.equal((await admin.listUsers({ query: { q: '5@ex' } })).items.length, 1)
  assert.equal((await admin.listUsers({ query: { q: '%' } })).items.length, 0)
  assert.equal((await admin.listUsers({ query: { status: 'suspended' } })).items.length, 0)
  assert.equal((await admin.listGroups({ query: { q: 'g%' } })).items.length, 7)
  const { next_cursor } = await admin.listUsers({ query: { limit: 1 } })
  await assert.rejects(admin.listGroups({ query: { cursor: next_cursor! } }), refusedWith(400, /cursor/))
  assert.deepEqual(
    (await other.listUsers()).items.map((u) => u.username),
    ['u-foreign'],
  )

  const inside = { tenant_id: encodeId('tenant', theirs) }
  assert.deepEqual(
    (await admin.listUsers({ query: inside })).items.map((u) => u.username),
    ['u-foreign'],
  )
})

test('whoever joins or leaves by a change of their own makes a new version of the group, even in one and the same moment', async (t) => {
  const at = new Date()
  const { admin } = await startKit(t, { now: () => at })
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'g' } } })
  const { group_id } = group
  const [joins, leaves] = await times(2, async (i) => {
    const user = { username: `user-${i}`, group_ids: i === 0 ? [] : [group_id] }
    return (await admin.changeUser({ body: { operation: 'create', user } })).user.user_id
  })
  const seen = versionOf(await admin.getGroup({ params: { group_id } }))
  await admin.changeUser({ body: { operation: 'update', user_id: joins!, user: { group_ids: [group_id] } } })
  await admin.changeUser({ body: { operation: 'update', user_id: leaves!, user: { group_ids: [] } } })
  const after = await admin.getGroup({ params: { group_id } })
  assert.equal(after.member_count, 1)
  const description = { operation: 'update', group_id, group: { description: 'of one' } } as const
  await assert.rejects(admin.changeGroup({ body: description }, { ifMatch: seen }), refusedWith(422, /current version/))
  assert.equal((await admin.changeGroup({ body: description }, { ifMatch: versionOf(after) })).changed, true)
})
