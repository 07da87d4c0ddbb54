import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Contract, Given, Output } from '@holdfast/contract'
import { onlineSeconds } from '@holdfast/contract/devices'
import { deviceFacets } from '@holdfast/contract/facets'
import { compareVersions } from '@holdfast/contract/semver'
import { countDeviceFacets, highestAddress, withAddresses } from '../../src/modules/devices/facets.queries.ts'
import { drawAddresses } from '../../src/modules/devices/facets.ts'
import { rule } from '../support/actors/gateways.ts'
import { all, fillFleet, size } from '../support/database/varied-fleet.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { tenantOf } from '../support/deployment/separate-tenant.ts'

type Device = Output<Contract['getDevice']>
type Query = NonNullable<Given<Contract['listDevices']>['query']>
type User = Output<Contract['getUser']>
type UserQuery = NonNullable<Given<Contract['listUsers']>['query']>

const deviceId = (d: Device) => d.device_id

const isVersion = (text: string | null): text is string => text !== null && /^\d+\.\d+\.\d+/.test(text)
/** The order of each sort without tie-breakers. The last seen time counts in steps of five minutes. */
const orders: Record<'enrolled_at' | 'name' | 'last_seen_at' | 'client_version', (a: Device, b: Device) => number> = {
  enrolled_at: (a, b) => Date.parse(a.enrolled_at) - Date.parse(b.enrolled_at),
  name: (a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)),
  last_seen_at: (a, b) => step(a.last_seen_at) - step(b.last_seen_at),
  client_version: (a, b) => {
    const [left, right] = [a, b].map((d) => d.client_version) as [string | null, string | null]
    if (isVersion(left) && isVersion(right)) return compareVersions(left, right)
    return rank(left) - rank(right)
  },
}
const step = (time: string | null) => (time === null ? -1 : Math.floor(Date.parse(time) / 300_000))
const rank = (version: string | null) => (version === null ? 0 : isVersion(version) ? 2 : 1)

const sorts = (Object.keys(orders) as (keyof typeof orders)[]).flatMap((name) => [name, `-${name}`] as const)

test('lists of devices: every filter in every order, page by page, and their facets', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const made = await fillFleet(kit)
  const { group_id } = made.group
  const document = (id: string, tag: string) => ({ schema: 'holdfast.policy/1', rules: [rule(id, { tags: [tag] })] })
  await admin.publishPolicy({ body: { channel: 'stable', policy: document('a', 'common') } as never })
  const rollout = { percent: 30, group_ids: [group_id] }
  await admin.publishPolicy({ body: { channel: 'canary', policy: document('b', 'rare'), rollout } as never })
  const devices = await all((page) => admin.listDevices({ query: page }), deviceId)
  assert.equal(devices.length, size)
  const members = new Set(
    (
      await all(
        (page) => admin.listUsers({ query: { ...page, group_id } }),
        (u) => u.user_id,
      )
    ).map((u) => u.user_id),
  )

  const hour = (d: Device) =>
    d.last_seen_at === null ? Number.POSITIVE_INFINITY : (Date.now() - Date.parse(d.last_seen_at)) / 3_600_000
  const inGroup = (d: Device) => d.group_ids.includes(group_id) || members.has(d.user_id ?? '')
  const filters: readonly [Query, (d: Device) => boolean][] = [
    [{}, () => true],
    [{ status: 'pending' }, (d) => d.status === 'pending'],
    [{ effective_status: 'user_suspended' }, (d) => d.effective_status === 'user_suspended'],
    [{ effective_status: 'expired' }, (d) => d.effective_status === 'expired'],
    [{ platform: 'macos' }, (d) => d.platform === 'macos'],
    [{ tag: 'rare' }, (d) => d.tags.includes('rare')],
    [{ group_id }, inGroup],
    [{ posture: 'unknown' }, (d) => d.posture.verdict === 'unknown'],
    ...(['online', 'offline', 'never'] as const).map((presence): [Query, (d: Device) => boolean] => [
      { presence },
      (d) => d.presence === presence,
    ]),
    [{ seen_within: '7200' }, (d) => hour(d) < 2],
    [{ unseen_for: new Date(Date.now() - 6 * 3_600_000).toISOString() }, (d) => hour(d) > 6],
    [{ client_version: '1.10.0' }, (d) => d.client_version === '1.10.0'],
    [{ client_version: 'build 7' }, (d) => d.client_version === 'build 7'],
    [
      { client_version_before: '1.10.0' },
      (d) => isVersion(d.client_version) && compareVersions(d.client_version, '1.10.0') < 0,
    ],
    [{ os_version: '14.1' }, (d) => d.os_version === '14.1'],
    [{ arch: 'arm64' }, (d) => d.arch === 'arm64'],
    [{ channel: 'canary' }, (d) => d.effective_channel === 'canary'],
    [{ gateway_id: made.gateway.gateway_id }, (d) => d.session?.gateway_id === made.gateway.gateway_id],
    [
      { q: 'laptop-1', presence: 'online', arch: 'arm64' },
      (d) => d.name.startsWith('laptop-1') && d.presence === 'online' && d.arch === 'arm64',
    ],
  ]

  await t.test('every filter in every order gives what fits, once, in order', async () => {
    for (const [filter, fits] of filters) {
      const wanted = devices.filter(fits).map(deviceId).sort()
      assert.ok(wanted.length > 0, `${JSON.stringify(filter)} fits nothing`)
      // Each filter meets each order, in one direction or the other.
      for (const [n, sort] of sorts.entries()) {
        if (Object.keys(filter).length > 0 && n % 4 !== 0 && n % 4 !== 3) continue
        const what = `${JSON.stringify(filter)} by ${sort}`
        const found = await all((page) => admin.listDevices({ query: { ...page, ...filter, sort } }), deviceId)
        assert.deepEqual(found.map(deviceId).sort(), wanted, what)
        const order = orders[sort.replace('-', '') as keyof typeof orders]
        const direction = sort.startsWith('-') ? -1 : 1
        for (const [i, device] of found.entries())
          assert.ok(i === 0 || direction * order(found[i - 1]!, device) <= 0, `${what}: ${i}`)
      }
      const { matched } = await admin.changeDevices({ body: { operation: 'suspend', filter, dry_run: true } })
      assert.equal(matched, wanted.length, `batch of ${JSON.stringify(filter)}`)
    }
  })

  await t.test('presence and session are the same in list and single answer, by one definition', async () => {
    const seen = new Map<string, number>()
    for (const d of devices) {
      const wanted = d.session
        ? 'online'
        : d.last_seen_at === null
          ? 'never'
          : hour(d) * 3600 < onlineSeconds
            ? 'online'
            : 'offline'
      assert.equal(d.presence, wanted)
      seen.set(wanted, (seen.get(wanted) ?? 0) + 1)
    }
    assert.deepEqual([...seen.keys()].sort(), ['never', 'offline', 'online'])
    const both = devices.find((d) => d.session && d.session.gateway_name === 'g1')!
    assert.deepEqual((await admin.getDevice({ params: { device_id: both.device_id } })).session, both.session)
  })

  await t.test('facets and totals agree with a count by hand', async () => {
    const valuesOf: Record<(typeof deviceFacets)[number], (d: Device) => readonly string[]> = {
      status: (d) => [d.status],
      effective_status: (d) => [d.effective_status],
      presence: (d) => [d.presence],
      posture: (d) => [d.posture.verdict],
      platform: (d) => [d.platform],
      channel: (d) => [d.effective_channel],
      client_version: (d) => [d.client_version ?? ''],
      os_version: (d) => [d.os_version ?? ''],
      tag: (d) => d.tags,
      group_id: (d) => (inGroup(d) ? [group_id] : []),
    }
    for (const [filter, fits] of filters) {
      const fitting = devices.filter(fits)
      const { total, facets } = await admin.listDeviceFacets({ query: filter })
      assert.deepEqual(total, { count: fitting.length, exact: true }, JSON.stringify(filter))
      const counted = await admin.listDevices({ query: { ...filter, limit: 1, count: 'estimate' } })
      assert.deepEqual(counted.total, total)
      for (const facet of deviceFacets) {
        const byHand = new Map<string, number>()
        for (const value of fitting.flatMap(valuesOf[facet])) byHand.set(value, (byHand.get(value) ?? 0) + 1)
        assert.deepEqual(
          new Map(facets[facet].map((v) => [v.value, v.count])),
          new Map([...byHand].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))),
          `${facet} of ${JSON.stringify(filter)}`,
        )
        const counts = facets[facet].map((v) => v.count)
        assert.deepEqual(
          counts,
          counts.toSorted((a, b) => b - a),
        )
      }
    }
    assert.deepEqual((await admin.listDeviceFacets()).facets.group_id[0]?.name, 'Staff')
  })

  await t.test('devices that are drawn by their addresses are counted as those of an index', async () => {
    const judged = { filter: {}, at: new Date(), canary: undefined, onlineSince: new Date() }
    const counted = await kit.db.inTenant(kit.tenant, async (tx) => {
      const highest = await highestAddress(tx, kit.tenant)
      return countDeviceFacets(tx, kit.tenant, judged, withAddresses(drawAddresses(highest, highest)), 50)
    })
    assert.equal(counted.find((r) => r.facet === 'total')?.count, size)
    const some = drawAddresses(1_000_000, 5000)
    assert.deepEqual(some, drawAddresses(1_000_000, 5000))
    assert.equal(new Set(some.map((n) => Math.floor((n - 1) / 200))).size, 5000, 'one of each part')
    // Of every third address about a third is drawn.
    const thirds = some.filter((n) => n % 3 === 0).length / some.length
    assert.ok(Math.abs(thirds - 1 / 3) < 0.03, `${thirds}`)
  })

  await t.test('names are those of now, and of nobody else', async () => {
    const device = devices.find((d) => d.user_id !== null && d.group_ids.length > 0)!
    const named = ({ user_name, group_names, enrolled_by }: Device) => [user_name, group_names, enrolled_by.token_name]
    assert.deepEqual(named(device), [device.user_name, ['Staff'], 'laptops'])
    assert.match(device.user_name!, /^person\d+$/)
    await admin.changeUser({ body: { operation: 'update', user_id: device.user_id!, user: { username: 'renamed' } } })
    await admin.changeGroup({ body: { operation: 'update', group_id, group: { name: 'Crew' } } })
    const wanted = ['renamed', ['Crew'], 'laptops']
    assert.deepEqual(named(await admin.getDevice({ params: { device_id: device.device_id } })), wanted)
    const [listed] = (await admin.listDevices({ query: { user_id: device.user_id! } })).items
    assert.equal(listed?.user_name, 'renamed')

    const [session] = (await admin.listSessions({ query: { gateway_id: made.gateway.gateway_id, limit: 1 } })).items
    assert.deepEqual([session?.gateway_name, session?.pool_name], ['g2', 'pool of g2'])
    const token = await admin.getToken({ params: { token_id: made.token.token_id } })
    assert.deepEqual([token.group_names, token.created_by_name?.length], [['Crew'], token.created_by_name!.length])
    assert.deepEqual((await admin.listTokens({ query: { sort: 'name' } })).items[0]?.group_names, ['Crew'])
    const user = await admin.getUser({ params: { user_id: device.user_id! } })
    const own = devices.filter((d) => d.user_id === device.user_id && d.status !== 'revoked').length
    assert.equal(user.device_count, own)
    assert.equal(
      (await admin.listGateways({ params: { pool_id: made.pool.pool_id } })).items[0]?.pool_name,
      'pool of g2',
    )

    const other = await tenantOf(kit)
    assert.deepEqual((await other.admin.listDevices({ query: { sort: '-last_seen_at' } })).items, [])
    const theirs = await other.admin.listDeviceFacets({ query: { gateway_id: made.gateway.gateway_id } })
    assert.deepEqual([theirs.total, theirs.facets.status], [{ count: 0, exact: true }, []])
  })

  await t.test(
    'a bound in the past is a number of seconds or a time, and anything else is refused by name',
    async () => {
      for (const query of [
        { seen_within: 'yesterday' },
        { unseen_for: '2026-02-31T00:00:00Z' },
        { client_version_before: 'new' },
      ]) {
        const [field = ''] = Object.keys(query)
        await assert.rejects(admin.listDevices({ query }), (e: Error) =>
          new RegExp(field).test(`${e.message} ${JSON.stringify(e)}`),
        )
      }
    },
  )

  await t.test('users: every filter in every order, and their facets', async () => {
    const users = await all(
      (page) => admin.listUsers({ query: page }),
      (u) => u.user_id,
    )
    const userFilters: readonly [UserQuery, (u: User) => boolean][] = [
      [{}, () => true],
      [{ locked: true }, (u) => u.locked_until !== null],
      [{ locked: false }, (u) => u.locked_until === null],
      [{ mfa: false }, (u) => !u.mfa.enabled],
      [{ status: 'suspended' }, (u) => u.status === 'suspended'],
      [{ group_id }, (u) => u.group_ids.includes(group_id)],
      [{ has_devices: true }, (u) => u.device_count > 0],
      [{ has_devices: false, status: 'active' }, (u) => u.device_count === 0 && u.status === 'active'],
    ]
    const keys: Record<string, (u: User) => string> = {
      username: (u) => u.username,
      created_at: (u) => u.created_at,
      last_login_at: (u) => u.last_login_at ?? '',
    }
    for (const [query, fits] of userFilters) {
      const wanted = users.filter(fits)
      assert.ok(wanted.length > 0, JSON.stringify(query))
      for (const sort of ['username', '-created_at', 'last_login_at', '-last_login_at'] as const) {
        const found = await all(
          (page) => admin.listUsers({ query: { ...page, ...query, sort } }),
          (u) => u.user_id,
          13,
        )
        assert.deepEqual(found.map((u) => u.user_id).sort(), wanted.map((u) => u.user_id).sort(), JSON.stringify(query))
        const given = found.map(keys[sort.replace('-', '')]!)
        const ordered = given.toSorted((a, b) => (a < b ? -1 : Number(a > b)))
        assert.deepEqual(given, sort.startsWith('-') ? ordered.toReversed() : ordered)
      }
      const { total, facets } = await admin.listUserFacets({ query })
      assert.deepEqual(total, { count: wanted.length, exact: true })
      const locked = wanted.filter((u) => u.locked_until !== null).length
      assert.equal(facets.locked.find((v) => v.value === 'true')?.count ?? 0, locked)
      assert.equal(facets.group_id[0]?.count ?? 0, wanted.filter((u) => u.group_ids.includes(group_id)).length)
      assert.equal(
        (await admin.listUsers({ query: { ...query, limit: 1, count: 'estimate' } })).total?.count,
        wanted.length,
      )
    }
  })

  await t.test('API keys by role and last use; pools by name', async () => {
    for (const role of ['viewer', 'auditor'] as const)
      for (const n of [1, 2, 3]) await admin.createApiKey({ body: { name: `${role} ${n}`, role } })
    const byUse = await all(
      (page) => admin.listApiKeys({ query: { ...page, sort: 'last_used_at' } }),
      (k) => k.key_id,
      2,
    )
    assert.equal(byUse.length, (await admin.listApiKeys({ query: { limit: 200 } })).items.length)
    const used = byUse.map((k) => k.last_used_at ?? '')
    assert.deepEqual(used, used.toSorted())
    const viewers = await admin.listApiKeys({ query: { role: 'viewer', unused_for: '3600' } })
    assert.deepEqual(viewers.items.map((k) => k.name).sort(), ['viewer 1', 'viewer 2', 'viewer 3'])
    assert.ok(viewers.items.every((k) => k.created_by === null || k.created_by_name !== null))
    const pools = await admin.listGatewayPools({ query: { q: 'POOL OF G2' } })
    assert.deepEqual(
      pools.items.map((p) => p.name),
      ['pool of g2'],
    )
  })
})
