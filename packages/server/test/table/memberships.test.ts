import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, type Operation, operations } from '@holdfast/contract'
import { type Permission, type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { bearer, call, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { makeUser } from '../support/actors/people.ts'
import { scimGroup, scimUser, scimWith } from '../support/clients/scim-client.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { snapshotOf } from '../support/providers/directory-snapshots.ts'

/** Body fields that may put users and devices into groups or under tags. */
const watched = ['group_ids', 'tags', 'members', 'add_members', 'group_mappings', 'groups']
function* fieldsOf(schema: TSchema, path = ''): Generator<string> {
  const { properties, items, anyOf, allOf } = schema as Partial<{
    properties: Record<string, TSchema>
    items: TSchema
    anyOf: TSchema[]
    allOf: TSchema[]
  }>
  for (const [name, its] of Object.entries(properties ?? {})) {
    const at = path === '' ? name : `${path}.${name}`
    if (watched.includes(name)) yield at
    yield* fieldsOf(its, at)
  }
  if (items) yield* fieldsOf(items, `${path}[]`)
  for (const part of [...(anyOf ?? []), ...(allOf ?? [])]) yield* fieldsOf(part, path)
}
const found = operations.flatMap(([name, { body }]) =>
  body ? [...new Set(fieldsOf(body))].map((field) => `${name} ${field}`) : [],
)

/** Fields that name groups or a claim, but add no member. */
const onlyNames = [
  'createIdentityProvider claims.groups', // a mapping brings people in, not the claim alone; a change of it counts below
  'createDirectorySource groups', // which groups a pull reads; the pull brings people in
  'updateDirectorySource groups',
  'publishPolicy rollout.group_ids', // to whom a version is delivered
  'changeRelease rollout.group_ids', // to whom a release is offered
  'updateRelease rollout.group_ids',
]

type Sent = { operation: Operation; body: object; params?: Record<string, string> }
type Way = {
  /** All the permissions that are needed. */
  needs: readonly Permission[]
  send: (role: Role) => Promise<Sent>
}
const has = (role: Role, permission: Permission) => (roles[role] as readonly string[]).includes(permission)

test('whoever brings a user or a device into a group, or under a tag, may change groups or devices', async (t) => {
  const kit = await startKit(t)
  const keys = new Map<Role, string>()
  for (const role of roleNames) keys.set(role, await kit.keyFor(role))
  const as = (role: Role) => bearer(keys.get(role) ?? '')
  let count = 0
  const fresh = () => `thing-${++count}`
  const user_id = await makeUser(kit, 'member')
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: fresh() } } })
  const { group_id } = group
  const { secret } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const { id: device_id } = await enrollRaw(kit, secret)
  const provider = await kit.admin.createIdentityProvider({
    body: { kind: 'oidc', name: fresh(), enabled: false, oidc: { issuer: 'https://192.0.2.1', client_id: 'a' } },
  })
  const mapped = [{ value: 'eng', group_id }]
  const params = { provider_id: provider.provider_id }
  /** The answer of a GET, with other values. */
  const withMapping = async (more: object) => ({ ...(await kit.admin.getIdentityProvider({ params })), ...more })
  const inGroup = (more: object): Sent => ({
    operation: 'changeGroup',
    body: { operation: 'update', group_id, group: more },
  })
  const settings = ['settings:write', 'groups:write'] as const

  /** By operation and field, as in the contract; several requests where there are several ways. */
  const ways: Record<string, Way> = {
    'generateToken group_ids': {
      needs: ['enrollment_tokens:write', 'groups:write'],
      send: async () => ({ operation: 'generateToken', body: { group_ids: [group_id] } }),
    },
    'generateToken tags': {
      needs: ['enrollment_tokens:write', 'devices:write'],
      send: async () => ({ operation: 'generateToken', body: { tags: ['laptop'] } }),
    },
    'changeDevice device.tags': {
      needs: ['devices:write'],
      send: async () => ({
        operation: 'changeDevice',
        body: { operation: 'update', device_id, device: { tags: [fresh()] } },
      }),
    },
    'changeUser user.group_ids': {
      needs: ['users:write', 'groups:write'],
      send: async () => ({
        operation: 'changeUser',
        body: { operation: 'create', user: { username: fresh(), group_ids: [group_id] } },
      }),
    },
    'changeGroup group.members': { needs: ['groups:write'], send: async () => inGroup({ members: [user_id] }) },
    'changeGroup group.add_members': { needs: ['groups:write'], send: async () => inGroup({ add_members: [user_id] }) },
    'createIdentityProvider group_mappings': {
      needs: settings,
      send: async () => ({
        operation: 'createIdentityProvider',
        body: {
          kind: 'oidc',
          name: fresh(),
          enabled: false,
          group_mappings: mapped,
          oidc: { issuer: 'https://192.0.2.1', client_id: 'a' },
        },
      }),
    },
    'updateIdentityProvider group_mappings': {
      needs: settings,
      send: async () => {
        await call(kit, at('updateIdentityProvider'), bearer(kit.adminKey), await withMapping({ group_mappings: [] }))
        return { operation: 'updateIdentityProvider', body: await withMapping({ group_mappings: mapped }) }
      },
    },
    'updateIdentityProvider claims.groups': {
      needs: settings,
      send: async () => {
        await call(
          kit,
          at('updateIdentityProvider'),
          bearer(kit.adminKey),
          await withMapping({ group_mappings: mapped }),
        )
        const claims = { ...provider.claims, groups: fresh() }
        return { operation: 'updateIdentityProvider', body: await withMapping({ group_mappings: mapped, claims }) }
      },
    },
    ...Object.fromEntries(
      ['groups', 'groups[].members', 'users[].groups'].map((field): [string, Way] => [
        `ingestDirectorySnapshot ${field}`,
        {
          needs: ['directory:sync', 'groups:write'],
          send: async () => {
            const [name, provider] = [fresh(), fresh()]
            const members = field === 'users[].groups' ? [] : [name]
            const user = { externalId: name, userName: name, ...(members.length === 0 && { groups: ['g'] }) }
            const group = { externalId: 'g', displayName: fresh(), members }
            return { operation: 'ingestDirectorySnapshot', body: snapshotOf([user], [group], { provider }) }
          },
        },
      ]),
    ),
  }
  const at = (name: Operation) => {
    const { method, path } = operation(name)
    return { method, path: path.replace('{provider_id}', provider.provider_id) }
  }
  const refusedAsItShould = (way: string, role: Role, needs: readonly Permission[], status: number, text: string) => {
    const isAllowed = needs.every((permission) => has(role, permission))
    const isRight = isAllowed ? status < 300 : status === 403
    return isRight ? [] : [`${way} as ${role}: ${status} ${text.slice(0, 160)}`]
  }

  await t.test('every field of the contract is a way that is walked, or brings nobody in', () => {
    const scim = ['createScimGroup members', 'replaceScimGroup members']
    assert.deepEqual(found.toSorted(), [...Object.keys(ways), ...onlyNames, ...scim].sort())
    assert.ok('patchScimGroup' in contract, 'whose operations name no field')
  })

  await t.test('every role by every way', async () => {
    const wrong: string[] = []
    for (const [way, { needs, send }] of Object.entries(ways))
      for (const role of roleNames) {
        const { operation: name, body } = await send(role)
        const { status, text } = await call(kit, at(name), as(role), body)
        wrong.push(...refusedAsItShould(way, role, needs, status, text))
      }
    assert.deepEqual(wrong, [])
  })

  await t.test('SCIM: every role whose key names a directory', async () => {
    const wrong: string[] = []
    for (const role of roleNames) {
      const key = await kit.app.access.createKeyFor(kit.tenant, { name: role, role, directory: `of ${role}` })
      const scim = scimWith(kit, key)
      const made = await scim.post('Users', scimUser(fresh()))
      const members = made.status === 201 ? [String(made.json.id)] : []
      const group = await scim.post('Groups', scimGroup(fresh(), members))
      const id = group.status === 201 ? String(group.json.id) : group_id
      const value = members.map((value) => ({ value }))
      for (const [way, { status, text }] of Object.entries({
        POST: group,
        PUT: await scim.put(`Groups/${id}`, scimGroup(fresh(), members)),
        PATCH: await scim.patch(`Groups/${id}`, [{ op: 'add', path: 'members', value }]),
      }))
        wrong.push(...refusedAsItShould(`SCIM ${way}`, role, ['directory:sync', 'groups:write'], status, text))
    }
    assert.deepEqual(wrong, [])
  })

  await t.test('what brings nobody into a group goes on', async () => {
    for (const role of ['helpdesk', 'operator'] as const) {
      const plain = { user_id, group_ids: [], tags: [] }
      const { status, text } = await call(kit, at('generateToken'), as(role), plain)
      assert.equal(status, 201, text)
    }
    const same = await call(
      kit,
      at('updateIdentityProvider'),
      as('security_admin'),
      await withMapping({
        group_mappings: mapped,
        claims: { ...provider.claims, groups: 'again' },
        max_devices_per_user: 3,
      }),
    )
    assert.equal(same.status, 403, 'another claim decides about the groups')
    const renamed = await withMapping({ name: fresh() })
    assert.ok('group_mappings' in renamed && renamed.group_mappings.length > 0)
    const answer = await call(kit, at('updateIdentityProvider'), as('security_admin'), renamed)
    assert.equal(answer.status, 200, answer.text)
  })
})
