import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, changeSecuritySettings } from '@holdfast/sdk'
import { bootstrap } from '../../src/bootstrap.ts'
import { ConfigError } from '../../src/config/config.ts'
import { makeUser, trySignIn } from '../support/actors/people.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const refusedWith = (status: number, about: RegExp) => (e: unknown) =>
  e instanceof ApiError && e.status === status && about.test(e.message)

test('accounts of programs, spellings of names, and what is on record of a sign-in', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit

  await t.test('a service account holds roles, and nobody signs in with it', async () => {
    const { user } = await admin.changeUser({
      body: { operation: 'create', user: { kind: 'service', username: 'deployer' } },
    })
    const { user_id } = user
    assert.equal(user.kind, 'service')
    const secondFactor = admin.enrollTotp({ body: { user_id } })
    await assert.rejects(secondFactor, refusedWith(422, /service account/))
    for (const body of [
      { user_id, generate: true },
      { user_id, new_password: 'seven crabs walk sideways' },
    ])
      await assert.rejects(admin.changePassword({ body }), refusedWith(422, /service account/))
    assert.equal((await trySignIn(kit, 'deployer')).status, 401)
    const toPerson = { operation: 'update', user_id, user: { kind: 'person' } } as const
    await assert.rejects(admin.changeUser({ body: toPerson }), refusedWith(422, /user\.kind/))
    const { items } = await admin.listUsers({ query: { kind: 'service' } })
    assert.deepEqual(
      items.map((u) => u.username),
      ['deployer'],
    )

    await admin.grantRole({ body: { user_id, role: 'platform_admin' } })
    const [root] = (await admin.listUsers({ query: { q: 'admin', kind: 'person' } })).items
    const last = admin.suspendUser({ body: { user_id: root!.user_id } })
    await assert.rejects(last, refusedWith(422, /last active platform_admin/), 'a program administers nothing alone')
  })

  await t.test('a name is found however it is typed; what nobody sees in it is refused', async () => {
    await makeUser(kit, 'zo\u00eb')
    const password = 'password of zo\u00eb'
    for (const spelled of ['zoe\u0308', 'ZO\u00cb', '\uff5a\uff4f\u00eb'])
      assert.equal((await trySignIn(kit, spelled, { password })).status, 200, spelled)
    for (const username of ['zo\u00eb\u200b', '\u202ezo\u00eb', 'zo\u0451'])
      await assert.rejects(
        admin.changeUser({ body: { operation: 'create', user: { username } } }),
        refusedWith(422, /user\.username/),
      )
    const email = { operation: 'create', user: { username: 'unseen', email: 'a\u200bna@example.org' } } as const
    await assert.rejects(admin.changeUser({ body: email }), refusedWith(422, /user\.email/))
  })

  await t.test('a failed sign-in comes from an address and aims at a name', async () => {
    const user_id = await makeUser(kit, 'ana')
    await trySignIn(kit, 'ana', { password: 'wrong' })
    await trySignIn(kit, 'nobody-of-that-name', { password: 'wrong' })
    await trySignIn(kit, 'ana', {}, { headers: { origin: 'https://elsewhere.example' } })
    const [other, unknown, wrong] = await eventsOf(kit, 'login.failed')
    assert.deepEqual(wrong?.actor, { type: 'address', id: null, name: '127.0.0.1' })
    assert.deepEqual(wrong?.target, { type: 'user', id: user_id, name: 'ana' })
    assert.deepEqual(unknown?.target, { type: 'user', id: null, name: 'nobody-of-that-name' })
    assert.deepEqual([other?.failure_reason, other?.outcome], ['other_site', 'refused'])
  })

  await t.test('a throttled sign-in is on record: the first at once, the rest with their count', async () => {
    await changeSecuritySettings(admin, { login: { max_failures_per_ip: 1 } })
    const answers = await times(8, (i) => trySignIn(kit, `guess-${i}`))
    const throttled = answers.filter((a) => a.status === 429).length
    assert.ok(throttled >= 5, String(throttled))
    assert.deepEqual(
      (await eventsOf(kit, 'auth.throttled')).map((e) => [e.refused, e.credential, e.actor.name]),
      [[1, 'password', '127.0.0.1']],
    )
    await kit.app.identity.stop()
    const [rest] = await eventsOf(kit, 'auth.throttled')
    assert.equal(rest?.refused, throttled - 1)
    const names = (await eventsOf(kit, 'auth.throttled')).flatMap((e) => e.details?.usernames as string[])
    const guessed = answers.flatMap(({ status }, i) => (status === 429 ? [`guess-${i}`] : []))
    assert.deepEqual(names.sort(), guessed.sort(), 'and whose accounts were tried')
  })

  await t.test('the first password is bound by the rules for every password', async () => {
    for (const password of ['admin', 'password', 'holdfast holdfast', 'aaaaaaaaaaaaaaaaaaaa'])
      await assert.rejects(
        bootstrap(kit.app, { ...kit.secrets, adminPassword: password }, () => {}),
        (e) => e instanceof ConfigError && /^HOLDFAST_ADMIN_PASSWORD .*\.$/.test(e.message),
        password,
      )
    await bootstrap(kit.app, kit.secrets, () => assert.fail('there is an administrator already'))
  })
})
