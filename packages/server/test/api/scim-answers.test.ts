import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { encodeId } from '../../src/kernel/ids.ts'
import { bearer, call } from '../support/actors/all-callers.ts'
import { provision, pushed, resources, says, scimGroup, scimUser } from '../support/clients/scim-client.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'

test('what is shown is what is asked for', async (t) => {
  const kit = await startKit(t)
  const { scim, key } = await provision(kit)
  const [id] = await pushed(scim, ['one'])
  const keys = async (query: string) => Object.keys((await scim.get(`Users/${id}?${query}`)).json).sort()
  assert.deepEqual(await keys('attributes=userName'), ['id', 'schemas', 'userName'])
  assert.deepEqual(await keys(`attributes=${scimUrns.user}:USERNAME,emails.value`), [
    'emails',
    'id',
    'schemas',
    'userName',
  ])
  assert.deepEqual((await scim.get(`Users/${id}?attributes=emails.value`)).json.emails, [{ value: 'one@example.com' }])
  assert.deepEqual(await keys('excludedAttributes=id,emails,groups,meta,nothing'), [
    ...['active', 'displayName', 'externalId', 'id', 'schemas', 'userName'],
  ])
  const [first] = resources(await scim.get('Users?attributes=displayName'))
  assert.deepEqual(first, { schemas: [scimUrns.user], id, displayName: 'The one' })
  says(await scim.get(`Users/${id}?attributes=a&excludedAttributes=b`), 400, 'invalidSyntax')
  const tagged = await scim.get(`Users/${id}`)
  const known = await scim.get(`Users/${id}`, { headers: { 'if-none-match': String(tagged.headers.etag) } })
  assert.deepEqual([known.status, known.text], [304, ''])

  for (const path of [
    'ServiceProviderConfig',
    'ResourceTypes',
    'ResourceTypes/User',
    'Schemas',
    `Schemas/${scimUrns.group}`,
  ]) {
    const answer = await scim.get(path)
    assert.equal(answer.status, 200, answer.text)
    assert.doesNotMatch(answer.text, /null/)
  }
  for (const path of ['ResourceTypes/Device', 'Schemas/urn:x', 'Bulk', 'Me', 'Users/']) says(await scim.get(path), 404)
  for (const [method, path, allow] of [
    ['POST', 'ServiceProviderConfig', 'GET, HEAD'],
    ['DELETE', 'Schemas', 'GET, HEAD'],
    ['PUT', 'Users', 'GET, HEAD, POST'],
    ['POST', `Users/${id}`, 'GET, HEAD, PUT, PATCH, DELETE'],
  ] as const) {
    const answer = await scim.ask(method, path, {})
    says(answer, 405)
    assert.equal(answer.headers.allow, allow)
  }
  says(await call(kit, { method: 'POST', path: '/v1/scim/v2/Schemas' }, null, {}), 401)
  const stranger = await call(
    kit,
    { method: 'GET', path: '/v1/scim/v2/Users' },
    bearer(key.replace(/.$/, (c) => (c === 'x' ? 'y' : 'x'))),
  )
  says(stranger, 401)
  says(await call(kit, { method: 'GET', path: '/v1/scim/v2/Users' }, null), 401)
  says(await call(kit, { method: 'GET', path: '/v1/scim/v2/Users' }, bearer(kit.adminKey)), 403)
  const elsewhere = await call(kit, { method: 'GET', path: '/v1/admin/users' }, bearer(key))
  assert.deepEqual([elsewhere.status, elsewhere.json.error], [403, 'forbidden'])
  // A directory's key has no access to another tenant, whatever its role.
  const { secret: strong } = await kit.admin.createApiKey({
    body: { name: 'strong', role: 'platform_admin', directory: 'entra' },
  })
  const foreign = `?tenant_id=${encodeId('tenant', await kit.newTenant())}`
  says(await call(kit, { method: 'GET', path: '/v1/scim/v2/Users' }, bearer(strong), undefined, foreign), 403)
  await t.test('every attribute path of the schemas can be asked for and left out, in every read', () => byPaths(kit))
})

type Shown = Record<string, unknown>
type Told = { name: string; subAttributes?: { name: string }[] }
/** The common attributes (RFC 7643 §3.1), which are in no schema. */
const common: Told[] = [
  { name: 'id' },
  { name: 'schemas' },
  {
    name: 'meta',
    subAttributes: ['resourceType', 'created', 'lastModified', 'location', 'version'].map((name) => ({ name })),
  },
]
const isObject = (value: unknown): value is Shown => typeof value === 'object' && value !== null
/** The value at a path; for a multi-valued attribute, the value of each element. */
const at = (entry: unknown, [name, ...rest]: string[]): unknown => {
  if (name === undefined) return entry
  if (Array.isArray(entry)) return entry.map((item) => at(item, [name, ...rest]))
  return isObject(entry) ? at(entry[name], rest) : undefined
}

/** An ETag depends on the attributes shown. */
const version = /[\w-]{16}\.[\w-]{16}/
async function byPaths(kit: Kit): Promise<void> {
  const { scim } = await provision(kit, 'paths')
  const [id = ''] = await pushed(scim, ['paths'], {
    name: {
      formatted: 'P Q',
      familyName: 'Q',
      givenName: 'P',
      middleName: 'M',
      honorificPrefix: 'D',
      honorificSuffix: 'E',
    },
    emails: [{ value: 'paths@example.com', type: 'work', primary: true, display: 'Work' }],
  })
  const made = await scim.post('Groups', scimGroup('paths', [id]))
  const ids = { User: id, Group: String(made.json.id) }
  const schemas = resources(await scim.get('Schemas')) as { name: 'User' | 'Group'; attributes: Told[] }[]
  let walked = 0
  for (const { name: kind, attributes } of schemas) {
    const one = `${kind}s/${ids[kind]}`
    const whole = (await scim.get(one)).json
    const paths = [...attributes, ...common].flatMap(({ name, subAttributes = [] }) => [
      [name],
      ...subAttributes.map((part) => [name, part.name]),
    ])
    for (const path of [...paths, ['name', 'nothing'], ['nothing', 'value']]) {
      const written = path.join('.')
      const unknown = written.includes('nothing')
      const always = path[0] === 'id' || path[0] === 'schemas'
      assert.ok(unknown || at(whole, path) !== undefined, `${kind} has ${written}`)
      for (const query of ['attributes', 'excludedAttributes']) {
        const search = { [query]: [written], filter: `id eq "${ids[kind]}"` }
        const shown = (await scim.get(`${one}?${query}=${written}`)).json
        const [searched] = resources(await scim.post(`${kind}s/.search`, search))
        assert.deepEqual(searched, shown, `${kind} ${query}=${written}`)
        const has = JSON.stringify(at(shown, path))
        if (query === 'attributes') {
          assert.equal(has?.replace(version, ''), JSON.stringify(at(whole, path))?.replace(version, ''), written)
          const others = Object.keys(shown).filter((name) => !['id', 'schemas', ...path.slice(0, 1)].includes(name))
          assert.deepEqual(others, [], `${kind} ${written} alone`)
        } else {
          const isHidden = has === undefined || /^\[(null,?)*\]$/.test(has)
          assert.equal(isHidden, !always, `${kind} without ${written}`)
        }
        walked++
      }
    }
  }
  assert.ok(walked > 80, `${walked} paths`)
}

test('what can not be taken is refused in the words of SCIM, and nothing of it is done', async (t) => {
  const kit = await startKit(t)
  const { scim } = await provision(kit)
  const [id] = await pushed(scim, ['one'])
  const before = (await scim.get(`Users/${id}`)).text
  const user = (body: object) => scim.post('Users', { ...scimUser('two'), ...body })
  says(await user({ userName: undefined }), 400, 'invalidValue')
  says(await user({ userName: 'two words' }), 400, 'invalidValue')
  says(await user({ emails: [{ value: 'no address' }] }), 400, 'invalidValue')
  says(
    await user({
      emails: [
        { value: 'a@b', primary: true },
        { value: 'c@d', primary: true },
      ],
    }),
    400,
    'invalidValue',
  )
  says(await user({ active: 'perhaps' }), 400, 'invalidValue')
  says(await user({ favouriteColour: 'red' }), 400, 'invalidSyntax')
  says(await user({ USERNAME: 'twice' }), 400, 'invalidSyntax')
  says(await user({ displayName: 'a\0b' }), 400, 'invalidValue')
  says(await user({ userName: 'ONE' }), 409, 'uniqueness')
  says(await user({ externalId: 'ext-one' }), 409, 'uniqueness')
  const patch = (...operations: object[]) => scim.patch(`Users/${id}`, operations)
  says(await patch(), 400, 'invalidSyntax')
  says(await patch({ op: 'move', path: 'userName' }), 400, 'invalidSyntax')
  says(await patch({ op: 'remove' }), 400, 'noTarget')
  says(await patch({ op: 'replace', path: 'id', value: 'x' }), 400, 'mutability')
  says(await patch({ op: 'remove', path: 'userName' }), 400, 'mutability')
  says(await patch({ op: 'add', path: 'shoeSize', value: 1 }), 400, 'invalidPath')
  says(await patch({ op: 'add', path: 'name.shoe', value: 'x' }), 400, 'invalidPath')
  says(await patch({ op: 'add', path: 'userName[a eq 1]', value: 'x' }), 400, 'invalidPath')
  says(await patch({ op: 'replace', path: 'emails[type is "x"].value', value: 'x' }), 400, 'invalidFilter')
  says(await patch({ op: 'replace', path: 'emails[shoe eq "x"].value', value: 'x' }), 400, 'invalidFilter')
  says(await patch({ op: 'replace', path: 'emails[type ne "work"]', value: { type: 'x' } }), 400, 'noTarget')
  // If the second of two operations fails, the first is not applied.
  says(
    await patch({ op: 'replace', path: 'displayName', value: 'changed' }, { op: 'add', path: 'x', value: 1 }),
    400,
    'invalidPath',
  )
  // Attributes of the core schema are at the top level. Under the schema's URN they would be ignored, which is
  // dangerous for `active`.
  says(await patch({ op: 'replace', value: { [scimUrns.user]: { active: false } } }), 400, 'invalidPath')
  says(await user({ [scimUrns.user]: { displayName: 'x' } }), 400, 'invalidSyntax')
  for (const filter of [
    'userName',
    'meta.created gt "-271821-04-20T00:00:00.000Z"',
    'meta.lastModified lt "+275760-09-13T00:00:00.000Z"',
    'shoeSize eq 1',
    'active gt true',
    'userName eq 5',
    'meta.created gt "soon"',
    'name[a pr]',
    'id co "x"',
  ])
    says(await scim.filtered('Users', filter), 400, 'invalidFilter')
  assert.equal((await scim.get('Users?sortBy=userName')).status, 200, 'lists have one order')
  says(await scim.get('Users?count=many'), 400, 'invalidSyntax')
  const typed = await scim.post('Users', scimUser('two'), { headers: { 'content-type': 'text/plain' } })
  says(typed, 400, 'invalidSyntax')
  says(await scim.put(`Users/${id}`, scimUser('one'), { headers: { 'if-match': '"old.old"' } }), 412)

  const [gid] = [String((await scim.post('Groups', { displayName: 'g' })).json.id)]
  const members = (value: unknown) => scim.patch(`Groups/${gid}`, [{ op: 'add', path: 'members', value }])
  const local = (await kit.admin.listUsers()).items.find((u) => u.source === 'local')
  says(await members([{ value: local?.user_id }]), 400, 'invalidValue')
  says(await members([{ value: gid }]), 400, 'invalidValue')
  says(await members([{ display: 'x' }]), 400, 'invalidValue')
  const crowd = Array.from({ length: 20_001 }, () => encodeId('user', crypto.randomUUID()))
  const tooMany = await members(crowd)
  says(tooMany, 400, 'invalidValue')
  assert.match(tooMany.text, /at most 20000/)
  says(await scim.post('Groups', { displayName: 'G' }), 409, 'uniqueness')
  says(await scim.post('Groups', { displayName: '' }), 400, 'invalidValue')
  assert.equal((await scim.get(`Users/${id}`)).text, before)
  assert.equal((await scim.get('Users')).json.totalResults, 1)
})
