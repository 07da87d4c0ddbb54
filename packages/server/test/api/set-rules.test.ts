import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '@holdfast/sdk'
import { changeSecuritySettings } from '@holdfast/sdk'
import { raceForAdministrators } from '../support/actors/administrator-race.ts'
import { enrollFactor, makeUser, signInAs, trySignIn, untilNextStep } from '../support/actors/people.ts'
import { createClock, type Kit, startKit, times } from '../support/deployment/deployment.ts'

/** Runs it 20 times at once on two replicas; how many of them won. */
const twenty = async (kit: Kit, work: (client: Client, i: number) => Promise<boolean>): Promise<number> => {
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const done = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => work(clients[i % 2]!, i)))
  for (const d of done) if (d.status === 'rejected') assert.equal(d.reason?.status, 422, String(d.reason))
  return done.filter((d) => d.status === 'fulfilled' && d.value).length
}

test('rules about sets', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  await t.test('a thing that may exist once exists once, after twenty concurrent attempts on two replicas', () =>
    createOnce(kit, clock),
  )
  await t.test('a tenant keeps an administrator through concurrent changes of two', async () => {
    assert.equal((await raceForAdministrators(kit, 12)).without, 0)
  })
})

async function createOnce(kit: Kit, clock: ReturnType<typeof createClock>): Promise<void> {
  const { admin } = kit
  await changeSecuritySettings(admin, { login: { lockout_threshold: 1000, max_failures_per_ip: 10_000 } })
  const users = await times(4, async (i) => {
    const { user } = await admin.changeUser({ body: { operation: 'create', user: { username: `user-${i}` } } })
    return user.user_id
  })
  const [user_id = ''] = users
  const spellings = ['zo\u00eb', 'zoe\u0308', 'ZO\u00cb', '\uff5a\uff4f\u00eb']
  const rules: Record<string, (client: Client, i: number) => Promise<boolean>> = {
    'a username, however it is spelled': async (client, i) =>
      (await client.changeUser({ body: { operation: 'create', user: { username: spellings[i % 4]! } } })).changed,
    'a username that others are renamed to': async (client, i) =>
      (await client.changeUser({ body: { operation: 'update', user_id: users[i % 4]!, user: { username: 'one' } } }))
        .changed,
    'the name of a group': async (client, i) =>
      (await client.changeGroup({ body: { operation: 'create', group: { name: i % 2 ? 'Staff' : 'staff' } } })).changed,
    'a role given': async (client) => (await client.grantRole({ body: { user_id, role: 'viewer' } })).changed,
    'a role taken': async (client) => (await client.revokeRole({ body: { user_id, role: 'viewer' } })).changed,
    'a suspension': async (client) => (await client.suspendUser({ body: { user_id } })).changed,
    'a reactivation': async (client) => (await client.reactivateUser({ body: { user_id } })).changed,
    'a deletion': async (client) => (await client.changeUser({ body: { operation: 'delete', user_id } })).changed,
  }
  for (const [rule, work] of Object.entries(rules)) assert.equal(await twenty(kit, work), 1, rule)

  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'short-lived' } } })
  const remove = { operation: 'delete', group_id: group.group_id } as const
  assert.equal(await twenty(kit, async (client) => (await client.changeGroup({ body: remove })).changed), 1)
  const again = await admin.changeGroup({ body: remove })
  assert.deepEqual([again.changed, again.group.name], [false, 'short-lived'], 'a repeated delete is no error')

  await makeUser(kit, 'ana')
  const { person, app, codes } = await enrollFactor(kit, 'ana', clock.now)
  clock.advance(30)
  const statuses = async (work: (i: number) => Promise<{ status: number }>) =>
    (await times(20, work)).filter((got) => got.status === 200).length
  const code = app.code()
  assert.equal(await statuses((i) => person.post('/v1/admin/auth/step-up', { code }, kit.replicas[i % 2])), 1)
  const recovery_code = codes[0]!
  const byCode = (i: number) => trySignIn(kit, 'ana', { recovery_code }, { replica: kit.replicas[i % 2]! })
  assert.equal(await statuses(byCode), 1, 'a recovery code')
  const given = await admin.changePassword({ body: { user_id: await makeUser(kit, 'temp'), generate: true } })
  const password = given.secret!
  const byPassword = (i: number) => trySignIn(kit, 'temp', { password }, { replica: kit.replicas[i % 2]! })
  assert.equal(await statuses(byPassword), 1, 'a temporary password')
  await makeUser(kit, 'bob')
  const bob = await signInAs(kit, 'bob')
  const { session_id } = (await bob.get('/v1/admin/me')).json.session
  const end = async (client: Client) => (await client.endAdminSession({ params: { session_id } })).changed
  assert.equal(await twenty(kit, end), 1, 'the end of a session')
}
