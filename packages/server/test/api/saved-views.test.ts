import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '@holdfast/contract'
import { type Role, type ViewList, viewLimits, viewListNames, viewLists } from '@holdfast/contract/vocabulary'
import { sql } from 'kysely'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser, type Person, signInAs } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const path = '/v1/admin/views'
type View = { view_id: string; list: string; name: string; shared: boolean; query: object; owner: object | null }
const windows = { list: 'devices', name: 'windows', query: { platform: 'windows', sort: '-enrolled_at' } } as const

const put = (person: Person, id: string, json: object, headers = {}) =>
  person.request({ method: 'PUT', path: `${path}/${id}`, json, headers })
const remove = (person: Person, id: string) => person.request({ method: 'DELETE', path: `${path}/${id}` })
const create = async (person: Person, json: object): Promise<View> => {
  const got = await person.post(path, json)
  assert.equal(got.status, 201, got.text)
  return got.json
}
const names = async (person: Person, query = ''): Promise<string[]> => {
  const got = await person.get(`${path}${query}`)
  assert.equal(got.status, 200, got.text)
  return got.json.items.map((view: View) => view.name)
}

test('saved views', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const signIn = async (name: string, role: Role) => {
    const user_id = await makeUser(kit, name, [role])
    return { user_id, ...(await signInAs(kit, name)) }
  }
  const [ada, bob] = [await signIn('ada', 'viewer'), await signIn('bob', 'viewer')]
  const [helper, chief] = [await signIn('helper', 'helpdesk'), await signIn('chief', 'tenant_admin')]

  await t.test('a private view is visible to its owner only', async () => {
    const made = await create(ada, windows)
    assert.deepEqual(made.owner, { user_id: ada.user_id, username: 'ada' })
    assert.equal(made.shared, false)
    assert.deepEqual(await names(ada, '?list=devices'), ['windows'])
    for (const other of [bob, chief]) {
      assert.deepEqual(await names(other), [])
      const body = { name: 'mine now', query: {}, shared: true }
      assert.equal((await other.get(`${path}/${made.view_id}`)).status, 404)
      assert.equal((await put(other, made.view_id, body)).status, 404)
      assert.equal((await remove(other, made.view_id)).status, 404)
    }
    const changed = await put(ada, made.view_id, { ...made, name: 'Windows 11', query: { platform: 'windows' } })
    assert.equal(changed.status, 200, changed.text)
    assert.deepEqual([changed.json.name, changed.json.query], ['Windows 11', { platform: 'windows' }])
    assert.equal((await put(ada, made.view_id, { ...made, list: 'users' })).status, 422, 'the list is fixed')
    const [event] = (await eventsOf(kit, 'view.updated')) as { view_id?: string; changes?: { name?: string[] } }[]
    assert.deepEqual([event?.view_id, event?.changes?.name], [made.view_id, ['windows', 'Windows 11']])
    assert.deepEqual((await remove(ada, made.view_id)).json, { changed: true })
    assert.deepEqual((await remove(ada, made.view_id)).json, { changed: false })
    assert.equal((await remove(bob, made.view_id)).status, 404)
    assert.equal((await ada.get(`${path}/${made.view_id}`)).status, 404)
    assert.equal((await eventsOf(kit, 'view.deleted')).length, 1)
  })

  await t.test(
    'a shared view is visible to readers of its list, and changed by its owner or with settings:write',
    async () => {
      const made = await create(ada, {
        ...windows,

        shared: true,
      })
      for (const other of [bob, helper, chief]) assert.deepEqual(await names(other, '?shared=true'), ['windows'])
      const body = { name: 'ours', query: {}, shared: true }
      for (const other of [bob, helper]) {
        const got = await put(other, made.view_id, body)
        assert.equal(got.status, 403, got.text)
        assert.match(got.json.detail, /settings:write/)
        assert.equal((await remove(other, made.view_id)).status, 403)
      }
      assert.equal((await put(chief, made.view_id, body)).status, 200)
      assert.equal(
        (await put(chief, made.view_id, { ...body, shared: false })).status,
        422,
        'only the owner can make it private',
      )
      const hidden = await create(chief, {
        list: 'audit',
        name: 'failed logins',
        query: { kind: 'login.failed' },
        shared: true,
      })
      assert.deepEqual(await names(ada), ['ours'], 'a viewer does not read the audit log')
      assert.equal((await ada.get(`${path}/${hidden.view_id}`)).status, 404)
      assert.equal((await ada.post(path, { list: 'audit', name: 'x', query: {} })).status, 403)
      assert.deepEqual((await remove(chief, made.view_id)).json, { changed: true })
      await remove(chief, hidden.view_id)
    },
  )

  await t.test('an API key and a visiting platform administrator have no private views', async () => {
    const shared = await create(ada, { ...windows, name: 'of all', shared: true })
    await create(ada, { ...windows, name: 'of ada' })
    const viewer = await kit.as('viewer')
    assert.deepEqual(
      (await viewer.listViews({})).items.map((v) => v.name),
      ['of all'],
    )
    await assert.rejects(viewer.createView({ body: { ...windows, shared: true } }), refused(403, /settings:write/))
    const admin = await kit.as('tenant_admin')
    await assert.rejects(admin.createView({ body: windows }), refused(422, /shared/))
    const made = await admin.createView({ body: { ...windows, shared: true } })
    assert.equal(made.owner, null)
    await assert.rejects(
      admin.createView({ body: { ...windows, name: 'WINDOWS', shared: true } }),
      refused(422, /name/),
    )
    await assert.rejects(
      admin.updateView({ params: { view_id: made.view_id }, body: { ...windows, shared: false } }),
      refused(422, /only the owner/),
    )
    await admin.deleteView({ params: { view_id: made.view_id } })
    const other = await kit.newTenant()
    const stranger = await kit.as('tenant_admin', other)
    assert.deepEqual((await stranger.listViews({})).items, [])
    const params = { view_id: shared.view_id }
    await assert.rejects(stranger.getView({ params }), refused(404))
    await assert.rejects(stranger.deleteView({ params }), refused(404))
    const boss = await signIn('boss', 'platform_admin')
    const there = `?tenant_id=${encodeId('tenant', other)}`
    assert.equal((await boss.post(`${path}${there}`, windows)).status, 422)
    assert.equal((await boss.post(`${path}${there}`, { ...windows, shared: true })).json.owner, null)
    assert.deepEqual(
      (await stranger.listViews({})).items.map((v) => v.name),
      ['windows'],
    )
    for (const name of await names(ada)) assert.ok(['of all', 'of ada'].includes(name))
  })

  await t.test('of twenty concurrent views with one name one is created, and the limits apply', async () => {
    const on = (i: number) => kit.replicas[i % 2]!
    const same = await times(20, (i) => bob.request({ method: 'POST', path, json: windows }, on(i)))
    assert.deepEqual(same.map((got) => got.status).toSorted(), [201, ...Array(19).fill(422)])
    assert.match(same.find((got) => got.status === 422)!.text, /name of another view/)
    assert.equal((await helper.post(path, windows)).status, 201, 'another person may have the name')
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`insert into saved_views (tenant_id, view_id, owner_id, list, name, query, shared, created_at, updated_at)
        select ${kit.tenant}::uuid, gen_random_uuid(), u.user_id, 'users', 'view ' || n, '{}', false, now(), now()
        from users u, generate_series(1, ${viewLimits.own - 6}) as n
        where u.tenant_id = ${kit.tenant} and u.username = 'bob'`.execute(tx),
    )
    const many = await times(20, (i) =>
      bob.request({ method: 'POST', path, json: { ...windows, list: 'groups', name: `n${i}`, query: {} } }, on(i)),
    )
    assert.equal(many.filter((got) => got.status === 201).length, 5)
    assert.match(many.find((got) => got.status === 422)!.text, /100 saved views, which is the maximum/)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`insert into saved_views (tenant_id, view_id, owner_id, list, name, query, shared, created_at, updated_at)
        select ${kit.tenant}::uuid, gen_random_uuid(), null, 'users', 'all ' || n, '{}', true, now(), now()
        from generate_series(1, ${viewLimits.shared - 1}) as n`.execute(tx),
    )
    const mine = await create(helper, { ...windows, name: 'to share' })
    const full = await put(helper, mine.view_id, { name: 'to share', query: {}, shared: true })
    assert.equal(full.status, 422, full.text)
    assert.match(full.text, /100 shared views, which is the maximum/)
    assert.equal((await helper.post(path, { ...windows, name: 'one more', shared: true })).status, 422)
    const page = (await bob.get(`${path}?limit=200`)).json
    assert.deepEqual([page.items.length, page.next_cursor], [200, null])
  })

  await t.test('fields and values of a view must be those of its list', async () => {
    const refuses = async (list: ViewList, query: object, what: RegExp) => {
      const got = await chief.post(path, { list, name: 'wrong', query })
      assert.equal(got.status, 422, got.text)
      assert.match(got.text, what)
    }
    await refuses('devices', { colour: 'blue' }, /query\.colour.*is not a parameter of the list devices/)
    await refuses('devices', { cursor: 'x' }, /query\.cursor/)
    await refuses('devices', { limit: '5' }, /query\.limit/)
    await refuses('devices', { platform: 'amiga' }, /query\.platform.*must be one of/)
    await refuses('devices', { user_id: 'me' }, /query\.user_id.*not the id of a user/)
    await refuses('devices', { q: '' }, /q/)
    await refuses('devices', { __proto__x: 'y' }, /query\.__proto__x/)
    await refuses('devices', { seen_within: '-24h' }, /query\.seen_within.*number of seconds before now/)
    await refuses('devices', { client_version_before: 'two' }, /query\.client_version_before.*Semantic Versioning/)
    await refuses('audit', { from: 'yesterday' }, /query\.from.*must be a time/)
    await refuses('audit', { after_seq: '-1' }, /query\.after_seq.*whole number/)
    for (const query of [{ from: '-24h' }, { from: '2026-01-31T09:30:00Z' }, { kind: 'login.*' }])
      await remove(chief, (await create(chief, { list: 'audit', name: 'right', query })).view_id)
    const recent = { ...windows, name: 'recent', query: { seen_within: '86400', client_version_before: '2.0.0' } }
    await remove(chief, (await create(chief, recent)).view_id)
    for (const body of [
      { ...windows, name: '' },
      { ...windows, colour: 'blue' },
      { ...windows, list: 'planets' },
    ])
      assert.equal((await chief.post(path, body)).status, 422)
    assert.equal((await chief.post(path, { ...windows, name: 'a\0b' })).status, 422)
    const odd = await create(chief, { ...windows, name: '%_\\ "☃', query: { q: '%_\\' } })
    assert.deepEqual((await chief.get(`${path}/${odd.view_id}`)).json.query, { q: '%_\\' })
    for (const list of viewListNames) assert.ok(contract[viewLists[list]].query.properties, list)
  })

  await t.test('a suspended user sees no views, and the shared views of a deleted user stay', async () => {
    const gone = await signIn('gone', 'viewer')
    await create(gone, { ...windows, list: 'sessions', query: {}, name: 'private' })
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update saved_views set shared = true where tenant_id = ${kit.tenant} and name = 'of ada'`.execute(tx),
    )
    await kit.admin.suspendUser({ body: { user_id: gone.user_id } })
    assert.equal((await gone.get(path)).status, 401)
    for (const user_id of [gone.user_id, ada.user_id])
      await kit.admin.changeUser({ body: { operation: 'delete', user_id } })
    const left = async () => {
      const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
        sql<{ name: string }>`select name from saved_views where tenant_id = ${kit.tenant} and deleted_at is null
          and name in ('private', 'of ada', 'of all') order by name`.execute(tx),
      )
      return rows.map((row) => row.name)
    }
    await runJob(kit.app, 'forget_what_is_over')
    assert.deepEqual(await left(), ['of ada', 'of all'])
    const { items } = await (await kit.as('viewer')).listViews({ query: { list: 'devices', limit: 200 } })
    assert.deepEqual(items.map((v) => [v.name, v.owner]).toSorted(), [
      ['of ada', null],
      ['of all', null],
    ])
  })
})
