import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUser, passwordOf, trySignIn } from '../support/actors/people.ts'
import { many, provision, pushed, type Scim, scimGroup, scimUser } from '../support/clients/scim-client.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { config, pull, sourceOf, startKeycloak } from '../support/providers/directory-pulls.ts'
import { push, snapshotOf } from '../support/providers/directory-snapshots.ts'

/** Requests that identity providers send in practice, and that deployments have refused. */
test('what identity providers send in the field', async (t) => {
  const kit = await startKit(t, { config })
  const { scim } = await provision(kit)
  const add = (scim: Scim, group: string, ids: readonly string[]) =>
    scim.patch(`Groups/${group}`, [{ op: 'Add', path: 'members', value: ids.map((value) => ({ value })) }])
  const remove = (scim: Scim, group: string, ids: readonly string[]) =>
    scim.patch(`Groups/${group}`, [{ op: 'Remove', path: 'members', value: ids.map((value) => ({ value })) }])

  await t.test(
    'people come and go all day: only those count who are gone and were there at the beginning',
    async () => {
      const ids = await pushed(scim, many(8))
      const group = async (name: string, members: readonly string[]) =>
        String((await scim.post('Groups', scimGroup(name, members))).json.id)
      const one = await group('one at a time', [])
      for (const id of ids)
        for (const move of [add, remove]) assert.equal((await move(scim, one, [id])).status, 204, 'a group of one')
      const eight = await group('eight', ids.slice(0, 6))
      for (let n = 0; n < 6; n++) {
        assert.equal((await remove(scim, eight, ids.slice(0, 3))).status, 204, 'the same three')
        assert.equal((await add(scim, eight, ids.slice(0, 3))).status, 204)
      }
      for (let n = 0; n < 3; n++) {
        assert.equal((await add(scim, eight, ids.slice(6))).status, 204)
        assert.equal((await remove(scim, eight, ids.slice(6))).status, 204, 'they came within the hour')
      }
      assert.equal((await remove(scim, eight, ids.slice(0, 3))).status, 204)
      const fourth = await remove(scim, eight, [String(ids[3])])
      assert.equal(fourth.status, 403, 'of six who were there four would be gone')
      assert.match(fourth.text, /would lose 4 of 6 members/)
    },
  )

  await t.test('one user who is suspended six times is one user', async () => {
    const other = await provision(kit, 'small')
    const [id = ''] = await pushed(other.scim, ['back-and-forth'])
    for (let n = 0; n < 7; n++)
      for (const value of ['False', 'True'])
        assert.equal((await other.scim.patch(`Users/${id}`, [{ op: 'Replace', path: 'active', value }])).status, 200)
  })

  await t.test('parameters of a URL that SCIM does not know are read past', async () => {
    const made = await scim.post('Users?aadOptscim062020=true', scimUser('flagged'))
    assert.equal(made.status, 201, made.text)
    const filter = encodeURIComponent('userName eq "flagged"')
    const found = await scim.get(`Users?aadOptscim062020&filter=${filter}&aadOptscim062020`)
    assert.deepEqual([found.status, found.json.totalResults], [200, 1], found.text)
    assert.equal((await scim.get('Users?filter=a&filter=b')).status, 400, 'a known one is given once')
    await assert.rejects(kit.admin.listUsers({ query: { unknown: 'x' } as object }), { status: 400 })
  })

  await t.test('two accounts of a person have one mail address, by every way; nothing signs in by it', async () => {
    const mail = 'jane@example.com'
    const emails = [{ type: 'work', primary: true, value: mail }]
    const jane = await scim.post('Users', scimUser(mail, { emails }))
    const admin = await scim.post('Users', scimUser('adm-jane@example.com', { emails }))
    assert.deepEqual([jane.status, admin.status], [201, 201], admin.text)
    const local = await makeUser(kit, 'jane', ['viewer'])
    await kit.admin.changeUser({ body: { operation: 'update', user_id: local, user: { email: mail } } })
    const read = await push(kit.admin, snapshotOf([{ externalId: 'j', userName: 'jane-in-corp', emails: [mail] }]))
    assert.deepEqual(read.problems, [])
    const { items } = await kit.admin.listUsers({ query: { q: mail } })
    assert.deepEqual(
      items.map((u) => [u.username, u.email]).sort(),
      ['adm-jane@example.com', 'jane', mail, 'jane-in-corp'].map((name) => [name, mail]).sort(),
    )
    assert.equal((await trySignIn(kit, mail, { password: passwordOf('jane') })).status, 401)
    assert.equal((await trySignIn(kit, 'jane')).status, 200)
    // In a policy, a username names its user, even if another user has it as an address. An address of several users
    // names none.
    const rulesFor = (user: string) => ({
      schema: 'holdfast.policy/1' as const,
      rules: [{ id: 'a', action: 'allow' as const, from: { users: [user] }, to: ['10.0.0.0/8'] }],
    })
    const validate = (user: string) => kit.admin.validatePolicy({ body: { policy: rulesFor(user) } })
    assert.equal((await validate(mail)).valid, true)
    const both = [{ value: 'shared@example.com', primary: true }]
    for (const name of ['one-of-two', 'two-of-two']) await scim.post('Users', scimUser(name, { emails: both }))
    assert.equal((await validate('shared@example.com')).valid, false)
  })

  await t.test('names of directories have up to 256 characters, by SCIM, snapshot and pull alike', async () => {
    const keycloak = await startKeycloak(kit)
    const source = await sourceOf(kit.admin, keycloak, { provider: 'pulled' })
    const long = (start: string, n = 256) => start.padEnd(n, 'x')
    const user = await scim.post(
      'Users',
      scimUser(long('scim-user'), { externalId: 'u-long', displayName: 'Long', emails: [] }),
    )
    const members = [String(user.json.id)]
    const made = await scim.post('Groups', { ...scimGroup(long('scim-group')), externalId: 'g-long', members: [] })
    assert.deepEqual([user.status, made.status], [201, 201], made.text)
    assert.equal(
      (
        await scim.patch(`Groups/${made.json.id}`, [
          { op: 'add', path: 'members', value: members.map((value) => ({ value })) },
        ])
      ).status,
      204,
    )
    const said = { externalId: 'l', userName: long('corp-user') }
    const names = [{ externalId: 'lg', displayName: long('corp-group'), members: ['l'] }]
    assert.deepEqual((await push(kit.admin, snapshotOf([said], names))).problems, [])
    keycloak.addGroup(`/${long('pulled-group', 255)}`, [
      keycloak.addUser(long('pulled-user'), { email: 'p@example.com' }),
    ])
    assert.deepEqual((await pull(kit.admin, source.source_id)).problems, [])
    for (const from of ['scim', 'corp', 'pulled']) {
      const [found] = (await kit.admin.listUsers({ query: { q: `${from}-user` } })).items
      assert.equal(found?.username, long(`${from}-user`))
      const [group] = (await kit.admin.listGroups({ query: { q: from === 'pulled' ? '/pulled' : `${from}-group` } }))
        .items
      assert.deepEqual([group?.name.length, group?.member_count], [256, 1], from)
    }
    // A longer value is refused, or cut and ended with an ellipsis.
    assert.equal(
      (await scim.post('Users', scimUser(long('u', 257), { externalId: 'too-long', displayName: 'Long', emails: [] })))
        .status,
      400,
    )
    const spoken = { name: { givenName: long('Given'), familyName: 'Family' }, displayName: undefined }
    const shown = await scim.post('Users', scimUser('talkative', spoken))
    const [talkative] = (await kit.admin.listUsers({ query: { q: 'talkative' } })).items
    assert.equal(shown.status, 201, shown.text)
    assert.deepEqual([talkative?.display_name.length, talkative?.display_name.endsWith('…')], [256, true])
    const local = await makeUser(kit, long('local-user'))
    assert.ok(local)
    assert.equal(
      (await trySignIn(kit, `default/${long('local-user')}`, { password: passwordOf(long('local-user')) })).status,
      200,
    )
  })
})
