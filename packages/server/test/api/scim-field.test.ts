import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKit } from '../kit.ts'
import { many, provision, pushed, type Scim, scimGroup, scimUser } from '../scim.ts'

/** What identity providers send in the field, and what deployments have refused of it. */
test('what identity providers send in the field', async (t) => {
  const kit = await startKit(t)
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
})
