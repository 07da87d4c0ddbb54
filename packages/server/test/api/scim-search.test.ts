import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import fc from 'fast-check'
import {
  type Comparison,
  type FilterValue,
  parseFilter,
  type ScimFilter,
} from '../../src/modules/directory/scim/filter.ts'
import { compareText } from '../../src/modules/directory/scim/match.ts'
import { many, provision, pushed, resources, says, scimGroup, scimUser } from '../support/clients/scim-client.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'

type Shown = { id: string } & Record<string, unknown>
const elements = (value: unknown): unknown[] => {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}

/** The meaning of a filter by RFC 7644, from the attributes shown of a user; independent of the server's code. */
function fits(f: ScimFilter, of: Record<string, unknown>): boolean {
  const plain = (path: string): unknown[] => {
    const [name = '', part] = path.split('.')
    const its = elements(of[name]) as Record<string, unknown>[]
    const parts = its.map((v) => (typeof v === 'object' ? v[part ?? 'value'] : v))
    // For a multi-valued attribute each element counts, also one without the sub-attribute.
    return name === 'emails' ? parts : parts.filter((v) => v !== undefined)
  }
  const one = (path: string, has: unknown, op: Comparison, value: FilterValue): boolean => {
    if (path === 'externalId') return (has === value) === (op === 'eq')
    if (typeof has === 'boolean' || typeof value === 'boolean') return (has === value) === (op === 'eq')
    return compareText(op, String(has), String(value))
  }
  switch (f.kind) {
    case 'and':
      return fits(f.left, of) && fits(f.right, of)
    case 'or':
      return fits(f.left, of) || fits(f.right, of)
    case 'not':
      return !fits(f.of, of)
    case 'present':
      return plain(f.path).some((v) => v !== undefined)
    case 'some':
      return elements(of[f.path]).some((v) => fits(f.of, v as Record<string, unknown>))
    case 'compare': {
      const has = plain(f.path)
      if (f.value === null) return (has.length === 0) === (f.op === 'eq')
      // A missing single-valued attribute is unequal to every value.
      if (has.length === 0 && !f.path.startsWith('emails')) return f.op === 'ne'
      return has.some((v) => (v === undefined ? f.op === 'ne' : one(f.path, v, f.op, f.value)))
    }
  }
}

const words = ['ann', 'Ann', 'bob', 'BOB', 'annabob', 'n', 'o', '%', '_', "o'b", '"', '\\', '']
const text = fc.constantFrom(...words)
const shown = (v: FilterValue) => JSON.stringify(v)
const textual = [
  'userName',
  'displayName',
  'externalId',
  'name.givenName',
  'name.familyName',
  'emails.value',
  'emails.type',
]
const condition = fc.oneof(
  fc
    .tuple(fc.constantFrom(...textual), fc.constantFrom('eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'), text)
    .filter(([path]) => path !== 'externalId')
    .map(([path, op, v]) => `${path} ${op} ${shown(v)}`),
  fc.tuple(fc.constantFrom('eq', 'ne'), text).map(([op, v]) => `externalId ${op} ${shown(v)}`),
  fc.constantFrom(...textual, 'active', 'emails').map((path) => `${path} pr`),
  fc.tuple(fc.constantFrom('eq', 'ne'), fc.boolean()).map(([op, v]) => `active ${op} ${v}`),
  fc.tuple(fc.constantFrom('work', 'home'), text).map(([type, v]) => `emails[type eq "${type}"].value co ${shown(v)}`),
)
const filters = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    condition,
    fc.tuple(tie('filter'), fc.constantFrom('and', 'or'), tie('filter')).map(([a, op, b]) => `(${a}) ${op} ${b}`),
    tie('filter').map((a) => `not (${a})`),
  ),
})).filter

test('what is searched for', async (t) => {
  const kit = await startKit(t)
  await t.test('a filter finds on PostgreSQL whom RFC 7644 says, whatever it is', () => byFilters(kit))
  await t.test('groups and times are searched too', () => groupsAndTimes(kit))
  await t.test('a search by POST finds what a list does, and of everything users and then groups', () => byPost(kit))
})

async function byFilters(kit: Kit): Promise<void> {
  const { scim } = await provision(kit, 'filtered')
  const people = [
    scimUser('ann', { displayName: 'Ann', name: { givenName: 'ann', familyName: 'Bob' } }),
    scimUser('bob', { displayName: "o'b", externalId: 'BOB', active: false }),
    scimUser('annabob', { displayName: undefined, emails: [{ value: 'ann@n.o', type: 'home' }, { value: 'bob@n.o' }] }),
    scimUser('o_b', { displayName: '100%', externalId: undefined, emails: [] }),
    scimUser('n', { displayName: 'N', name: { givenName: 'n' }, emails: [{ value: 'n@n', type: 'Work' }] }),
  ]
  for (const body of people) assert.equal((await scim.post('Users', body)).status, 201)
  const all = (await scim.get('Users')).json.Resources as Shown[]
  assert.equal(all.length, people.length)
  const found = new Set<number>()
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const wanted = all.filter((user) => fits(parseFilter(filter), user)).map((u) => u.id)
      found.add(wanted.length)
      assert.deepEqual(await scim.idsOf('Users', filter), wanted, filter)
    }),
    { numRuns: 60 },
  )
  assert.ok(found.size > 3, 'some find few, some many')
}

async function groupsAndTimes(kit: Kit): Promise<void> {
  const { scim } = await provision(kit, 'grouped')
  const made = await scim.post('Groups', { displayName: 'Sailors' })
  const id = String(made.json.id)
  const { created } = made.json.meta as { created: string }
  for (const [filter, n] of [
    ['displayName sw "SA" and not (members pr)', 1],
    ['displayName eq "sale"', 0],
    [`meta.created ge "${created}"`, 1],
    [`meta.created gt "${created}"`, 0],
    ['meta.lastModified lt "2000-01-01T00:00:00Z"', 0],
    [`id eq "${id}" or externalId pr`, 1],
    ['externalId eq null', 1],
    ['id eq "nonsense"', 0],
  ] as const)
    assert.equal((await scim.idsOf('Groups', filter)).length, n, filter)
}

async function byPost(kit: Kit): Promise<void> {
  const { scim } = await provision(kit)
  const ids = await pushed(scim, many(4))
  for (const name of ['sales', 'The staff'])
    ids.push(String((await scim.post('Groups', scimGroup(name, ids.slice(0, 2)))).json.id))
  const [sales] = ids.slice(4)
  const search = (path: string, body: object) => scim.post(`${path}.search`, { schemas: [scimUrns.search], ...body })
  const found = async (filter?: string) => resources(await search('', { filter })).map((r) => r.id)

  const filter = 'displayName co "person" or externalId sw "ext-sa"'
  for (const [kind, query, body] of [
    ['Users', '', {}],
    [
      'Users',
      '&startIndex=2&count=2&attributes=userName,meta',
      { startIndex: 2, count: 2, attributes: ['userName', 'meta'] },
    ],
    ['Groups', '&excludedAttributes=members', { excludedAttributes: ['members'] }],
  ] as const) {
    const [listed, searched] = [await scim.filtered(kind, filter, query), await search(`${kind}/`, { filter, ...body })]
    assert.deepEqual([searched.status, searched.text], [200, listed.text])
    assert.ok(resources(searched).length > 0)
  }

  assert.deepEqual(await found(), ids)
  for (const count of [1, 3, 4]) {
    const seen: unknown[] = []
    for (let startIndex = 1; startIndex < 7; startIndex += count) {
      const page = await search('', { startIndex, count })
      assert.deepEqual([page.json.totalResults, page.json.startIndex], [6, startIndex])
      seen.push(...resources(page).map((r) => r.id))
    }
    assert.deepEqual(seen, ids, `by pages of ${count}`)
  }
  const [users, groups] = [ids.slice(0, 4), ids.slice(4)]
  // An attribute that only the other type has has no value here.
  for (const [its, wanted] of [
    ['displayName sw "The "', [...users, groups[1]]],
    ['userName pr', users],
    ['not (emails[type eq "work"].value pr)', groups],
    ['active ne true', groups],
    ['emails.primary eq true and meta.created gt "2020-01-01T00:00:00Z"', users],
    [`members[value eq "${ids[0]}"] or members.value eq "${ids[1]}"`, groups],
    ['meta.resourceType eq "Group"', groups],
    [`${scimUrns.group}:displayName eq "sales" or id eq "${ids[3]}"`, [ids[3], sales]],
    [`${scimUrns.user}:displayName pr`, users],
  ] as const)
    assert.deepEqual(await found(its), wanted, its)
  const shown = resources(await search('', { filter: `id eq "${ids[0]}" or displayName eq "sales"` }))
  const each = [await scim.get(`Users/${ids[0]}`), await scim.get(`Groups/${sales}`)]
  assert.deepEqual(
    shown,
    each.map((a) => a.json),
  )
  const short = resources(await search('', { attributes: ['displayName'], filter: 'displayName eq "sales"' }))
  assert.deepEqual(short, [{ schemas: [scimUrns.group], id: sales, displayName: 'sales' }])

  for (const path of ['', 'Users/', 'Groups/']) {
    says(await search(path, { filter: 'shoeSize eq 1' }), 400, 'invalidFilter')
    says(await search(path, { sortBy: 'userName' }), 400, 'invalidValue')
    says(await search(path, { count: '5' }), 400, 'invalidValue')
    says(await search(path, { attributes: ['a'], excludedAttributes: ['b'] }), 400, 'invalidSyntax')
    says(await scim.get(`${path}.search`), 405)
  }
  const okta = await provision(kit, 'okta')
  assert.equal((await okta.scim.post('.search', { schemas: [scimUrns.search] })).json.totalResults, 0)
}
