import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiError } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser } from '../support/actors/people.ts'
import { count, refusedWith } from '../support/actors/sign-in.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

test('a user lives through create, update, suspend, reactivate and delete, each once', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'Staff' } } })
  const made = await admin.changeUser({
    body: { operation: 'create', user: { username: 'ana', email: 'ana@example.org', group_ids: [group.group_id] } },
  })
  const { user_id } = made.user
  assert.deepEqual(made.user.group_ids, [group.group_id])
  assert.equal((await admin.getGroup({ params: { group_id: group.group_id } })).member_count, 1)

  const update = { operation: 'update', user_id, user: { display_name: 'Ana', group_ids: [] as string[] } } as const
  const updated = await admin.changeUser({ body: update })
  assert.deepEqual([updated.changed, updated.user.display_name, updated.user.group_ids], [true, 'Ana', []])
  assert.equal((await admin.changeUser({ body: update })).changed, false)

  const user = { username: 'ben', email: 'b\u200ben@example.org' }
  for (const body of [
    { operation: 'create', user },
    { operation: 'update', user_id, user },
  ] as const)
    await assert.rejects(admin.changeUser({ body }), ({ status, errors }: ApiError) => {
      assert.deepEqual([status, errors[0]?.field], [422, 'user.email'], body.operation)
      return true
    })

  for (const operation of ['suspend', 'reactivate', 'delete'] as const) {
    const all = await times(8, () => admin.changeUser({ body: { operation, user_id, reason: 'test' } }))
    assert.equal(
      count(
        all.map((a) => a.changed),
        true,
      ),
      1,
      operation,
    )
  }
  await assert.rejects(admin.getUser({ params: { user_id } }), refusedWith(404))
  await assert.rejects(admin.changeUser({ body: { operation: 'reactivate', user_id } }), refusedWith(404))
  const again = await admin.changeUser({ body: { operation: 'create', user: { username: 'ANA' } } })
  assert.notEqual(again.user.user_id, user_id)

  const recorded = (await eventsOf(kit, 'user.changed')).filter((e) => e.user_id === user_id)
  assert.deepEqual(recorded.map((e) => e.operation).sort(), ['create', 'delete', 'reactivate', 'suspend', 'update'])
  assert.deepEqual(recorded.find((e) => e.operation === 'update')?.changes, {
    display_name: ['', 'Ana'],
    group_ids: [[group.group_id], []],
  })
})

test('what is wrong with a user or a group is named', async (t) => {
  const { admin, newTenant, as } = await startKit(t)
  const other = await as('tenant_admin', await newTenant())
  const { user: foreign } = await other.changeUser({ body: { operation: 'create', user: { username: 'eve' } } })
  const { group: foreignGroup } = await other.changeGroup({ body: { operation: 'create', group: { name: 'theirs' } } })
  const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: 'ana' } } })
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'Staff' } } })

  const users = (body: Parameters<typeof admin.changeUser>[0]['body']) => admin.changeUser({ body })
  const groups = (body: Parameters<typeof admin.changeGroup>[0]['body']) => admin.changeGroup({ body })
  await assert.rejects(users({ operation: 'create', user: { username: 'Ana' } }), refusedWith(422, /user\.username/))
  await assert.rejects(users({ operation: 'create', user: { username: 'a/b' } }), refusedWith(422, /user\.username/))
  await assert.rejects(users({ operation: 'create', user: {} }), refusedWith(422, /user\.username/))
  await assert.rejects(users({ operation: 'suspend' }), refusedWith(422, /user_id/))
  const named = { operation: 'update', user_id: user.user_id } as const
  await assert.rejects(users({ ...named, user: { username: 'admin' } }), refusedWith(422, /user\.username/))
  const ids = [group.group_id, foreignGroup.group_id]
  await assert.rejects(users({ ...named, user: { group_ids: ids } }), refusedWith(422, /user\.group_ids\[1\]/))

  const staff = { operation: 'update', group_id: group.group_id } as const
  const members = [user.user_id, foreign.user_id]
  await assert.rejects(
    groups({ ...staff, group: { add_members: members } }),
    refusedWith(422, /group\.add_members\[1\]/),
  )
  await assert.rejects(
    groups({ ...staff, group: { members: ['usr_nonsense'] } }),
    refusedWith(422, /group\.members\[0\]/),
  )
  await assert.rejects(groups({ operation: 'create', group: { name: 'STAFF' } }), refusedWith(422, /group\.name/))

  for (const id of [foreign.user_id, 'usr_nonsense', encodeId('user', '01890000-0000-7000-8000-000000000000')]) {
    await assert.rejects(admin.getUser({ params: { user_id: id } }), refusedWith(404))
    await assert.rejects(users({ operation: 'delete', user_id: id }), refusedWith(404))
  }
  await assert.rejects(admin.getGroup({ params: { group_id: foreignGroup.group_id } }), refusedWith(404))
  await assert.rejects(groups({ operation: 'delete', group_id: foreignGroup.group_id }), refusedWith(404))
})

test('of two last administrators who remove each other, one stays', async (t) => {
  const kit = await startKit(t)
  for (let round = 0; round < 5; round++) {
    const tenant = await kit.newTenant()
    // The platform may stop both (`stopping.test.ts`).
    const admin = await kit.as('tenant_admin', tenant)
    const ids = await Promise.all(
      ['a', 'b'].map(async (username) => {
        const roles = ['security_admin', 'tenant_admin'] as const
        const { userId } = await kit.app.identity.createUser(tenant, { username, password: 'x', roles })
        return encodeId('user', userId)
      }),
    )
    const done = await Promise.allSettled(
      ids.map((user_id, i) => admin.changeUser({ body: { operation: i ? 'delete' : 'suspend', user_id } })),
    )
    const failures = done.filter((d) => d.status === 'rejected')
    assert.equal(failures.length, 1)
    assert.match(String(failures[0]?.reason), /last active tenant_admin/)
  }
  const [root] = (await kit.admin.listUsers({ query: { q: 'admin' } })).items
  const lastOne = kit.admin.changeUser({ body: { operation: 'suspend', user_id: root!.user_id } })
  await assert.rejects(lastOne, refusedWith(422, /last active platform_admin/))
})

test('nobody touches a user who may do more', async (t) => {
  const kit = await startKit(t)
  await makeUser(kit, 'second', ['platform_admin'])
  const tenantAdmin = await kit.as('tenant_admin')
  const [second] = (await kit.admin.listUsers({ query: { q: 'second' } })).items
  const { user_id } = second!
  for (const operation of ['suspend', 'delete'] as const)
    await assert.rejects(tenantAdmin.changeUser({ body: { operation, user_id } }), refusedWith(403))
  const rename = { operation: 'update', user_id, user: { username: 'mine' } } as const
  await assert.rejects(tenantAdmin.changeUser({ body: rename }), refusedWith(403))
  const refused = (await eventsOf(kit, 'request.refused')).filter((e) => e.operation === 'changeUser')
  assert.equal(refused.length, 3)
})
