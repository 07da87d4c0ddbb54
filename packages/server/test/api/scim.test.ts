import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { provision, pushed, resources, says, scimUser } from '../support/clients/scim-client.ts'
import { startKit } from '../support/deployment/deployment.ts'

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
test('what Entra ID sends, from the test of its connection to a deleted group', async (t) => {
  const kit = await startKit(t)
  const { scim, key_id } = await provision(kit)
  const nobody = await scim.filtered('Users', `userName eq "${randomUUID()}"`)
  assert.equal(nobody.status, 200)
  assert.equal(nobody.headers['content-type'], 'application/scim+json; charset=utf-8')
  assert.deepEqual(nobody.json, {
    schemas: [scimUrns.list],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  })
  const externalId = randomUUID()
  const made = await scim.post('Users', {
    schemas: [scimUrns.user, enterprise],
    externalId,
    userName: 'Test_User_AB@Contoso.com',
    active: true,
    displayName: 'lennay',
    emails: [{ primary: true, type: 'work', value: 'Test_User_AB@contoso.com' }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Adrienne McNally', familyName: 'McNally', givenName: 'Adrienne' },
    roles: [],
    phoneNumbers: [{ type: 'mobile', value: '555' }],
    [enterprise]: { department: 'bob', manager: { value: '1' } },
  })
  assert.equal(made.status, 201, made.text)
  const id = String(made.json.id)
  assert.equal(made.headers.location, `${kit.publicUrl}/v1/scim/v2/Users/${id}`)
  const meta = made.json.meta as Record<string, string>
  assert.equal(meta.version, made.headers.etag)
  assert.deepEqual(
    { ...made.json, meta: undefined },
    {
      schemas: [scimUrns.user],
      id,
      externalId,
      userName: 'Test_User_AB@Contoso.com',
      name: { formatted: 'Adrienne McNally', familyName: 'McNally', givenName: 'Adrienne' },
      displayName: 'lennay',
      emails: [{ value: 'Test_User_AB@contoso.com', type: 'work', primary: true }],
      active: true,
      groups: [],
      meta: undefined,
    },
  )
  const ours = await kit.admin.getUser({ params: { user_id: id } })
  assert.deepEqual(
    [ours.username, ours.email, ours.display_name, ours.source, ours.external_id],
    ['test_user_ab@contoso.com', 'Test_User_AB@contoso.com', 'lennay', 'directory', externalId],
  )

  for (const filter of [
    'userName eq "test_user_ab@contoso.COM"',
    `externalId eq "${externalId}"`,
    'emails[type eq "work"].value eq "TEST_USER_AB@contoso.com"',
    'emails[type eq "work" and primary eq true]',
    `id eq "${id}"`,
    'active eq true and name.familyName co "nall"',
  ])
    assert.deepEqual(await scim.idsOf('Users', filter), [id], filter)

  const multi = await scim.patch(`Users/${id}`, [
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@contoso.com' },
    { op: 'Replace', path: 'name.familyName', value: 'Updated' },
    { op: 'Add', path: `${enterprise}:department`, value: 'Engineering' },
    { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '556' },
    { op: 'Add', path: 'emails[type eq "other"].value', value: 'other@contoso.com' },
  ])
  assert.equal(multi.status, 200, multi.text)
  assert.deepEqual(multi.json.emails, [
    { value: 'updated@contoso.com', type: 'work', primary: true },
    { value: 'other@contoso.com', type: 'other' },
  ])
  assert.deepEqual((multi.json.name as { familyName: string }).familyName, 'Updated')
  const single = await scim.patch(`Users/${id}`, [{ op: 'Replace', path: 'userName', value: 'renamed@contoso.com' }])
  assert.equal(single.json.userName, 'renamed@contoso.com')
  assert.deepEqual(await scim.idsOf('Users', 'userName eq "Test_User_AB@Contoso.com"'), [])

  const disabled = await scim.patch(`Users/${id}`, [{ op: 'Replace', path: 'active', value: 'False' }])
  assert.deepEqual([disabled.status, disabled.json.active], [200, false])
  assert.equal((await kit.admin.getUser({ params: { user_id: id } })).status, 'suspended')
  assert.equal(resources(await scim.filtered('Users', 'userName eq "renamed@contoso.com"'))[0]?.active, false)
  assert.equal((await scim.patch(`Users/${id}`, [{ op: 'Replace', path: 'active', value: 'True' }])).json.active, true)

  const group = await scim.post('Groups', {
    schemas: [scimUrns.group, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
    externalId: randomUUID(),
    displayName: 'Sales',
    members: [],
    meta: { resourceType: 'Group' },
  })
  assert.equal(group.status, 201, group.text)
  const gid = String(group.json.id)
  const seen = await scim.get(`Groups/${gid}?excludedAttributes=members`)
  assert.deepEqual([seen.json.displayName, 'members' in seen.json], ['Sales', false])
  assert.deepEqual(
    resources(await scim.filtered('Groups', 'displayName eq "sales"', '&excludedAttributes=members')).length,
    1,
  )
  const patched = await scim.patch(`Groups/${gid}`, [
    { op: 'Add', path: 'members', value: [{ $ref: null, value: id }] },
  ])
  assert.deepEqual([patched.status, patched.text], [204, ''])
  const location = `${kit.publicUrl}/v1/scim/v2/Users/${id}`
  assert.deepEqual((await scim.get(`Groups/${gid}`)).json.members, [{ value: id, $ref: location, type: 'User' }])
  assert.deepEqual(await scim.idsOf('Groups', `id eq "${gid}" and members eq "${id}"`), [gid])
  assert.deepEqual(await scim.idsOf('Groups', `members[value eq "${id}"]`), [gid])
  const [its] = (await scim.get(`Users/${id}`)).json.groups as object[]
  assert.deepEqual({ ...its, $ref: undefined }, { value: gid, $ref: undefined, display: 'Sales', type: 'direct' })
  assert.equal(
    (await scim.patch(`Groups/${gid}`, [{ op: 'Remove', path: 'members', value: [{ value: id }] }])).status,
    204,
  )
  assert.equal(
    (await scim.patch(`Groups/${gid}`, [{ op: 'Replace', path: 'displayName', value: 'Sales 2' }])).status,
    204,
  )
  assert.deepEqual(
    [(await scim.get(`Groups/${gid}`)).json.members, (await scim.get(`Groups/${gid}`)).json.displayName],
    [[], 'Sales 2'],
  )
  assert.equal((await scim.delete(`Groups/${gid}`)).status, 204)
  says(await scim.get(`Groups/${gid}`), 404)
  const gone = await scim.delete(`Users/${id}`, { headers: { 'content-type': 'application/scim+json' } })
  assert.deepEqual([gone.status, gone.text], [204, ''])
  says(await scim.get(`Users/${id}`), 404)
  says(await scim.delete(`Users/${id}`), 404)
  assert.equal((await kit.admin.getUser({ params: { user_id: id } })).status, 'suspended')

  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'user.changed', limit: 100 } })
  const mine = items.filter((e) => 'user_id' in e && e.user_id === id)
  assert.deepEqual(mine.map((e) => ('operation' in e ? e.operation : '')).reverse(), [
    'create',
    'update',
    'update',
    'suspend',
    'reactivate',
    'suspend',
  ])
  assert.ok(mine.every((e) => e.actor.type === 'api_key' && e.actor.id === key_id))
  const run_id = String((mine[0]?.details as { run_id?: string } | undefined)?.run_id)
  const run = await kit.admin.getDirectoryRun({ params: { run_id } })
  assert.deepEqual(
    [run.source, run.status, run.counts.users, run.counts.groups, run.counts.memberships],
    [
      'scim',
      'applied',
      { created: 1, updated: 2, suspended: 2, reactivated: 1, unchanged: 0 },
      { created: 1, updated: 3, emptied: 1, unchanged: 0 },
      { added: 1, removed: 1 },
    ],
  )
  assert.equal((await kit.admin.listDirectoryRuns()).items.length, 1, 'an hour is one run')
  const [status] = (await kit.admin.getDirectorySyncStatus()).items
  assert.deepEqual([status?.provider, status?.source, status?.last_run?.run_id], ['entra', 'scim', run_id])
})

test('what Okta sends: the checks of its suite, provisioning, and import by pages', async (t) => {
  const kit = await startKit(t)
  const { scim } = await provision(kit, 'okta')
  const okta = scimUser('seed', { locale: 'en-US', groups: [], password: '1mz050nq', nickName: 'x' })
  const seeded = await scim.post('Users', okta)
  assert.equal(seeded.status, 201, seeded.text)
  assert.doesNotMatch(seeded.text, /1mz050nq/)
  const listed = await scim.get('Users?count=1&startIndex=1')
  assert.deepEqual(
    [listed.json.totalResults, listed.json.startIndex, listed.json.itemsPerPage, resources(listed).length],
    [1, 1, 1, 1],
  )
  says(await scim.get('Users/010101001010101011001010101011'), 404)
  assert.equal(
    (await scim.filtered('Users', 'userName eq "abcdefgh@example.com"', '&startIndex=1&count=100')).json.totalResults,
    0,
  )
  const body = {
    schemas: [scimUrns.user],
    userName: 'Runscope300@atko.com',
    name: { givenName: 'Runscope', familyName: 'User' },
    emails: [{ primary: true, value: 'runscope300@atko.com', type: 'work' }],
    displayName: 'Runscope User',
    active: true,
  }
  const made = await scim.post('Users', body)
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(made.json.name, body.name)
  assert.equal('externalId' in made.json, false)
  says(await scim.post('Users', body), 409, 'uniqueness')
  const id = String(made.json.id)
  const back = await scim.put(`Users/${id}`, {
    ...(await scim.get(`Users/${id}`)).json,
    name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
  })
  assert.deepEqual(
    [back.status, back.json.name],
    [200, { givenName: 'Another', middleName: 'Excited', familyName: 'User' }],
  )
  const off = await scim.patch(`Users/${id}`, [{ op: 'replace', value: { id, active: false } }])
  assert.deepEqual([off.status, off.json.active], [200, false])
  const on = await scim.patch(`Users/${id}`, [{ op: 'replace', value: { active: true, 'name.familyName': 'Doe' } }])
  assert.deepEqual([on.json.active, (on.json.name as { familyName: string }).familyName], [true, 'Doe'])
  const kept = await scim.put(`Users/${id}`, { schemas: [scimUrns.user], userName: 'runscope301' })
  assert.deepEqual(
    [kept.json.active, kept.json.displayName, kept.json.emails, kept.json.name],
    [true, undefined, undefined, undefined],
    'what is left out is taken away',
  )

  const group = await scim.post('Groups', { displayName: 'Okta group', members: [{ value: id, display: 'x' }] })
  assert.equal(group.status, 201, group.text)
  const gid = String(group.json.id)
  const [other] = await pushed(scim, ['other'])
  const shape = [
    { op: 'remove', path: `members[value eq "${id}"]` },
    { op: 'add', path: 'members', value: [{ value: other, display: 'other' }] },
  ]
  assert.equal((await scim.patch(`Groups/${gid}`, shape)).status, 204)
  const renamed = await scim.patch(`Groups/${gid}`, [{ op: 'replace', value: { id: gid, displayName: 'Renamed' } }])
  assert.equal(renamed.status, 204, renamed.text)
  const put = await scim.put(`Groups/${gid}`, {
    schemas: [scimUrns.group],
    displayName: 'Renamed',
    members: [{ value: id }],
  })
  assert.deepEqual([put.status, (put.json.members as { value: string }[]).map((m) => m.value)], [200, [id]])

  await pushed(scim, ['p1', 'p2', 'p3', 'p4'])
  const seen: string[] = []
  for (let startIndex = 1; ; startIndex += 3) {
    const page = await scim.get(`Users?startIndex=${startIndex}&count=3`)
    assert.equal(page.json.totalResults, 7)
    if (resources(page).length === 0) break
    seen.push(...resources(page).map((r) => String(r.userName)))
  }
  assert.deepEqual(seen, ['seed', 'runscope301', 'other', 'p1', 'p2', 'p3', 'p4'])
  for (const [query, n] of [
    ['count=0', 0],
    ['count=-3', 0],
    ['startIndex=-1&count=2', 2],
    ['count=100000', 7],
  ] as const)
    assert.equal(resources(await scim.get(`Users?${query}`)).length, n, query)
})
