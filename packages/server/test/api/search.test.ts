import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Contract, Output } from '@holdfast/contract'
import { type Role, roles, type SearchKind, searchKinds } from '@holdfast/contract/vocabulary'
import type { Client } from '@holdfast/sdk'
import { sql } from 'kysely'
import type { Actor } from '../../src/kernel/actor.ts'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import { createSearch } from '../../src/modules/search/search.ts'
import { enroll, open, refused, withGateway } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'

type Hit = Output<Contract['search']>['items'][number]

let kit: Kit
let prepared: Awaited<ReturnType<typeof prepare>>
/** One deployment for all tests here, with one object of each kind named zulu. */
async function prepare(t: TestContext) {
  kit = await startKit(t, { replicas: 2 })
  const { admin } = kit
  const user_id = await makeUser(kit, 'zulu.jane', ['viewer'])
  await admin.changeUser({
    body: { operation: 'update', user_id, user: { display_name: 'Jane of Zulu', email: 'jane@zulu.example' } },
  })
  await admin.changeGroup({ body: { operation: 'create', group: { name: 'zulu engineers' } } })
  const made = await withGateway(kit, 'zulu-gw', 'pool of zulu')
  const { enrollment_token } = await admin.generateToken({ body: { name: 'Zulu onboarding' } })
  const { api_key } = await admin.createApiKey({ body: { name: 'zulu automation', role: 'viewer' } })
  await publishWith({ resources: { 'zulu-wiki': { dns: ['wiki.zulu.example'] } }, hosts: { 'zulu-host': '10.9.8.7' } })
  const device = await enroll(kit, 'ZULU laptop 7', { user_id })
  const gateway = open(kit, made)
  await gateway.pull()
  const session_id = encodeId('vpn_session', newUuid())
  await gateway.meter([{ session_id, device_id: device.id, state: 'active', rx_bytes: 1, tx_bytes: 1 }])
  return { user_id, made, enrollment_token, api_key, device, session_id }
}

const publishWith = (named: { hosts?: Record<string, string>; resources?: Record<string, { dns: string[] }> }) =>
  kit.admin.publishPolicy({
    body: {
      channel: 'stable',
      policy: {
        schema: 'holdfast.policy/1',
        ...named,
        rules: [{ id: 'all', action: 'allow', from: { any: true }, to: ['*'] }],
      },
    },
  })

const search = (client: Client, q: string, more: { limit?: number; kinds?: string } = {}) =>
  client.search({ query: { q, ...more } })
const idsOf = ({ items }: { items: readonly Hit[] }) => items.map((hit) => hit.id)
const only = ({ items }: { items: readonly Hit[] }, kind: SearchKind): Hit => {
  const found = items.filter((hit) => hit.kind === kind)
  assert.equal(found.length, 1, `one ${kind} in ${JSON.stringify(items)}`)
  return found[0]!
}
/** The role decides which objects are found and which actions are offered. */
const mayRun = (role: Role, ...needed: string[]) =>
  needed.every((permission) => (roles[role] as readonly string[]).includes(permission))

test('search', async (t) => {
  prepared = await prepare(t)
  const { user_id, made, enrollment_token, api_key, device, session_id } = prepared

  await t.test('one text finds things of each kind, with detail, status and actions', async () => {
    const found = await search(kit.admin, 'zulu')
    assert.deepEqual(found.kinds, searchKinds)
    assert.deepEqual(found.more, [])
    const laptop = only(found, 'device')
    assert.equal(laptop.id, device.id)
    assert.equal(laptop.name, 'ZULU laptop 7')
    assert.equal(laptop.status, 'active')
    assert.deepEqual(laptop.actions.toSorted(), ['lost_device', 'revoke', 'suspend'])
    const jane = only(found, 'user')
    assert.equal(jane.id, user_id)
    assert.equal(jane.detail, 'Jane of Zulu · jane@zulu.example')
    assert.deepEqual(jane.actions, ['suspend', 'compromised_user'])
    assert.equal(only(found, 'group').detail, '0 members')
    assert.deepEqual(only(found, 'gateway').actions, ['drain', 'compromised_gateway'])
    assert.equal(only(found, 'gateway_pool').id, made.pool.pool_id)
    assert.deepEqual(only(found, 'enrollment_token').actions, ['revoke'])
    assert.equal(only(found, 'api_key').id, api_key.key_id)
    const session = only(found, 'vpn_session')
    assert.deepEqual([session.id, session.name, session.actions], [session_id, 'ZULU laptop 7', ['terminate']])
    const resources = found.items.filter((hit) => hit.kind === 'policy_resource')
    assert.deepEqual(
      resources.map((hit) => [hit.id, hit.detail]),
      [
        ['zulu-host', '10.9.8.7'],
        ['zulu-wiki', 'wiki.zulu.example'],
      ],
    )
  })

  await t.test('words, several words, serial numbers, addresses, hints, digests, ids and pages are found', async () => {
    const { addresses } = await kit.admin.getDevice({ params: { device_id: device.id } })
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update devices set serial = 'C02-9XK' where tenant_id = ${kit.tenant} and name = 'ZULU laptop 7'`.execute(tx),
    )
    const finding = async (q: string, kind: SearchKind) => only(await search(kit.admin, q, { kinds: kind }), kind).id
    for (const q of ['lap', 'LAPTOP 7', 'zulu laptop 7', 'c02', '9xk', addresses.ipv4!, addresses.ipv6!, device.id])
      assert.equal(await finding(q, 'device'), device.id, q)
    assert.deepEqual(idsOf(await search(kit.admin, 'aptop')), [], 'no beginning of a word')
    assert.deepEqual(idsOf(await search(kit.admin, '100.64.', { kinds: 'device' })), [device.id])
    for (const q of ['100.127.', '100.300.', '10.64.0.1', '::1', 'fd00::1', '999.999.999.999'])
      assert.deepEqual(idsOf(await search(kit.admin, q, { kinds: 'device' })), [], q)
    assert.equal(await finding('of zu', 'user'), user_id)
    assert.equal(await finding('zulu.example', 'user'), user_id)
    assert.equal(await finding(enrollment_token.hint, 'enrollment_token'), enrollment_token.token_id)
    assert.equal(await finding(api_key.hint, 'api_key'), api_key.key_id)
    assert.equal(await finding(session_id, 'vpn_session'), session_id)
    assert.equal(await finding('jane', 'vpn_session'), session_id, 'by its user')
    const { items } = await kit.admin.listPolicyBundles({})
    const { bundle_id, digest } = items[0]!
    for (const q of ['v1', '1', digest.slice(0, 10), bundle_id])
      assert.equal(await finding(q, 'policy_version'), bundle_id)
    assert.equal(await finding('inbox', 'settings_page'), '/admin/alerts')
  })

  await t.test('a name that is the text comes first, then names that begin with it, then the others', async () => {
    for (const name of ['my order', 'order', 'order of ten'])
      await kit.admin.changeGroup({ body: { operation: 'create', group: { name } } })
    const found = await search(kit.admin, 'Order')
    assert.deepEqual(
      found.items.map((hit) => hit.name),
      ['order', 'order of ten', 'my order'],
    )
  })

  await t.test('every role sees the kinds that it may read, and the actions that it may run', async () => {
    const permissionOf: Partial<Record<SearchKind, string>> = {
      device: 'devices:read',
      user: 'users:read',
      group: 'groups:read',
      gateway: 'gateways:read',
      gateway_pool: 'settings:read',
      enrollment_token: 'enrollment_tokens:read',
      vpn_session: 'sessions:read',
      api_key: 'api_keys:read',
      policy_version: 'policy:read',
      policy_resource: 'policy:read',
    }
    for (const role of Object.keys(roles) as Role[]) {
      const found = await search(await kit.as(role), 'zulu', { limit: 20 })
      const readable = searchKinds.filter((kind) => !permissionOf[kind] || mayRun(role, permissionOf[kind]))
      assert.deepEqual(found.kinds, readable, role)
      for (const hit of found.items) assert.ok(readable.includes(hit.kind), `${role} ${hit.kind}`)
      const actions = (kind: SearchKind) => found.items.find((hit) => hit.kind === kind)?.actions ?? []
      assert.equal(actions('device').includes('suspend'), mayRun(role, 'devices:suspend', 'devices:read'), role)
      assert.equal(actions('device').includes('revoke'), mayRun(role, 'devices:write'), role)
      assert.equal(actions('device').includes('lost_device'), mayRun(role, 'devices:write', 'incidents:run'), role)
      assert.equal(actions('vpn_session').includes('terminate'), mayRun(role, 'sessions:terminate'), role)
      const offered = found.items.flatMap((hit) => hit.actions)
      if (role === 'viewer' || role === 'auditor') assert.deepEqual(offered, [], role)
    }
    const viewer = await kit.as('viewer')
    assert.deepEqual(await search(viewer, 'zulu', { kinds: 'api_key,gateway_pool' }), {
      items: [],
      kinds: [],
      more: [],
    })
    assert.deepEqual(idsOf(await search(viewer, 'Security set')), [], 'a page that a viewer can not open')
  })

  await t.test('sessions are not found by words of devices or users that the caller may not read', async () => {
    const asked: { deviceIds: number; userIds: number }[] = []
    const stored = (['device', 'user'] as const).map((kind) => ({ kind, noun: kind, find: async () => [] }))
    const searchAll = createSearch({
      db: kit.db,
      feed: { catchUp: async () => {} },
      stored,
      held: [],
      sessions: {
        findOf: async (_tx, _actor, { deviceIds, userIds }) => {
          asked.push({ deviceIds: deviceIds.length, userIds: userIds.length })
          return []
        },
      },
    })
    for (const readable of [[], ['devices:read'], ['users:read'], ['devices:read', 'users:read']]) {
      const principal = { kind: 'api_key', permissions: new Set(['sessions:read', ...readable]) }
      const actor = { tenantId: kit.tenant, principal } as unknown as Actor
      await searchAll(actor, { text: 'zulu', limit: 8, kinds: ['vpn_session'] })
    }
    assert.deepEqual(asked, [
      { deviceIds: 0, userIds: 0 },
      { deviceIds: 1, userIds: 0 },
      { deviceIds: 0, userIds: 1 },
      { deviceIds: 1, userIds: 1 },
    ])
  })

  await t.test('actions follow the state, and the rules about who may do what to whom', async () => {
    const boss = await makeUser(kit, 'yankee.boss', ['tenant_admin'])
    await enroll(kit, 'yankee phone')
    const of = async (q: string, client = kit.admin) => (await search(client, q)).items.map((hit) => hit.actions)
    const [found] = (await search(kit.admin, 'yankee phone')).items
    const body = { device_id: found!.id }
    await kit.admin.changeDevice({ body: { operation: 'suspend', ...body } })
    assert.deepEqual(await of('yankee phone'), [['reactivate', 'revoke', 'lost_device']])
    await kit.admin.changeDevice({ body: { operation: 'revoke', ...body } })
    assert.deepEqual(await of('yankee phone'), [[]])
    assert.deepEqual(await of('yankee.boss', await kit.as('security_admin')), [[]], 'who may do more')
    await kit.admin.suspendUser({ body: { user_id: boss } })
    const [suspended] = (await search(kit.admin, 'yankee.boss')).items
    assert.deepEqual([suspended?.status, suspended?.actions], ['suspended', ['reactivate', 'compromised_user']])
    const own = await kit.admin.createApiKey({ body: { name: 'xray', role: 'platform_admin' } })
    assert.deepEqual(await of('xray', await kit.as('tenant_admin')), [[]], 'a key that may do more')
    await kit.admin.revokeApiKey({ params: { key_id: own.api_key.key_id }, body: {} })
    assert.deepEqual(await of('xray'), [[]])
  })

  await t.test('a renamed, deleted or new thing is found as it is, also by another replica', async () => {
    const other = kit.clientFor(kit.adminKey, kit.replicas[1])
    const user_id = await makeUser(kit, 'whiskey')
    assert.deepEqual(idsOf(await search(other, 'whiskey')), [user_id])
    await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { username: 'victor' } } })
    assert.deepEqual(idsOf(await search(other, 'whiskey')), [])
    assert.deepEqual(idsOf(await search(other, 'victor')), [user_id])
    await kit.admin.changeUser({ body: { operation: 'delete', user_id } })
    assert.deepEqual(idsOf(await search(other, 'victor')), [])
    assert.deepEqual(idsOf(await search(other, user_id)), [], 'nor by id')
    const late = await withGateway(kit, 'uniform')
    assert.deepEqual(only(await search(other, 'uniform'), 'gateway').id, late.gateway.gateway_id)
    await publishWith({ hosts: { tango: '10.1.2.3' } })
    assert.deepEqual(idsOf(await search(other, 'tango')), ['tango'])
    assert.deepEqual(idsOf(await search(other, 'zulu-wiki')), [], 'the policy in force has none')
  })

  await t.test('another tenant finds nothing of this one', async () => {
    const other = await kit.newTenant()
    const stranger = await kit.as('tenant_admin', other)
    for (const q of ['zulu', 'laptop', device.id, user_id, session_id, enrollment_token.hint, '100.64.'])
      assert.deepEqual((await search(stranger, q)).items, [], q)
    const visitor = await kit.admin.search({ query: { q: 'zulu', tenant_id: encodeId('tenant', other) } as never })
    assert.deepEqual(visitor.items, [])
  })

  await t.test('limits hold, and say that there is more', async () => {
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`insert into groups (tenant_id, group_id, name)
        select ${kit.tenant}::uuid, gen_random_uuid(), 'sierra ' || n from generate_series(1, 25) as n`.execute(tx),
    )
    for (const [limit, shown] of [
      [undefined, 8],
      [1, 1],
      [20, 20],
    ] as const) {
      const found = await search(kit.admin, 'sierra', limit === undefined ? {} : { limit })
      assert.equal(found.items.length, shown)
      assert.deepEqual(found.more, ['group'])
    }
    await assert.rejects(search(kit.admin, 'sierra', { limit: 21 }), refused(400, /limit/))
  })

  await t.test('hostile texts find nothing that they do not spell', async () => {
    for (const q of [
      '%',
      '_',
      '\\',
      '%zulu',
      'z%',
      'zul_',
      "'; drop table users; --",
      '\u{10ffff}',
      'z'.repeat(64),
      '..',
    ])
      assert.deepEqual((await search(kit.admin, q)).items, [], q)
    for (const q of ['', '   ', 'z'.repeat(65), 'a\0b'])
      await assert.rejects(search(kit.admin, q), refused(400, /q/), q)
    await assert.rejects(search(kit.admin, 'zulu', { kinds: 'device,planet' }), refused(400, /unknown kind "planet"/))
    await assert.rejects(search(kit.admin, 'zulu', { kinds: '' }), refused(400, /kinds/))
    await assert.rejects(search(kit.clientFor('nothing'), 'zulu'), refused(401))
  })

  await t.test('words of the database are those of its rows after any change', async () => {
    const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
      sql<{ of: string }>`
      with should as (
        select 'device' as kind, device_id as id, e.place, e.word from devices r,
          search_entries(array[r.name, r.serial]) e where tenant_id = ${kit.tenant}
        union all select 'user', user_id, e.place, e.word from users r,
          search_entries(array[r.username, r.display_name, r.email]) e
          where tenant_id = ${kit.tenant} and deleted_at is null
        union all select 'group', group_id, e.place, e.word from groups r, search_entries(array[r.name]) e
          where tenant_id = ${kit.tenant}
        union all select 'enrollment_token', token_id, e.place, e.word from enrollment_tokens r,
          search_entries(array[r.name, r.hint]) e where tenant_id = ${kit.tenant}
        union all select 'api_key', key_id, e.place, e.word from api_keys r, search_entries(array[r.name, r.hint]) e
          where tenant_id = ${kit.tenant}
        union all select 'policy_version', bundle_id, e.place, e.word from policy_bundles r,
          search_entries(array[r.note, r.version::text, 'v' || r.version::text, r.digest, r.channel]) e
          where tenant_id = ${kit.tenant}),
      are as (select kind, subject_id as id, place, word from search_words where tenant_id = ${kit.tenant})
      (select 'missing ' || word as of from (select * from should except select * from are) a)
      union all (select 'too many ' || word from (select * from are except select * from should) b)`.execute(tx),
    )
    assert.deepEqual(rows, [])
  })
})
