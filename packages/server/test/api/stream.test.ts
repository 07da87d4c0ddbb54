import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { type OpenStream, openStream, openStreams, statementsDuring } from '../support/clients/change-streams.ts'
import { send } from '../support/clients/raw-http.ts'
import { createClock, type Replica, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { raiseNotice } from '../support/domain/notifications.ts'
import { rule } from '../support/domain/policy.ts'
import { lockDevice } from '../support/domain/workflow-runs.ts'

test('change stream', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const [, there] = kit.replicas as [Replica, Replica]
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const open = openStreams(t, kit)
  const group = async (name: string) =>
    (await kit.admin.changeGroup({ body: { operation: 'create', group: { name } } })).group.group_id
  const key = async (role: Parameters<typeof kit.keyFor>[0]) => kit.keyFor(role)

  await t.test('each kind of change arrives at both replicas within two seconds, with the changed ids', async () => {
    const streams = [await open(bearer(kit.adminKey)), await open(bearer(kit.adminKey), '', there)]
    const both = (look: (stream: OpenStream) => Promise<unknown>) => Promise.all(streams.map(look))
    for (const stream of streams) {
      assert.equal(stream.status, 200)
      assert.equal(stream.headers['content-type'], 'text/event-stream')
      assert.match(String(stream.headers['cache-control']), /no-store/)
      assert.equal(stream.headers['x-accel-buffering'], 'no')
      assert.equal(stream.headers['content-encoding'], undefined)
      assert.match(stream.text(), /^retry: \d+\n\n/)
      await stream.event('ready')
    }
    // The other replica must know of the stream before it announces changes that are in no log.
    await delay(50)
    const slow: [string, number][] = []
    const told = async (kind: string, change: () => Promise<string>) => {
      const id = await change()
      const since = performance.now()
      await both((stream) => stream.changed(kind, id))
      slow.push([kind, performance.now() - since])
    }
    await told('groups', () => group('told'))
    await told('users', () => makeUser(kit, 'told'))
    await told(
      'keys',
      async () => (await kit.admin.createApiKey({ body: { name: 'told', role: 'viewer' } })).api_key.key_id,
    )
    // While there is no gateway that it would wait for.
    const lost = await enroll(kit, 'lost', { now: clock.now })
    await told('runs', async () => (await lockDevice(kit, lost.id)).run.workflow_run_id!)
    await both((stream) => stream.event('run'))
    const { gateway, pool, client } = await makeGateway(kit, 'told', 'told')
    await both((stream) => stream.changed('pools', pool.pool_id))
    await both((stream) => stream.changed('gateways', gateway.gateway_id))
    const device = await enroll(kit, 'told', { now: clock.now })
    await both((stream) => stream.changed('devices', device.id))
    await told('policy', async () => {
      const body = {
        channel: 'stable',
        policy: { schema: 'holdfast.policy/1', rules: [rule('all', { any: true }, ['told'])] },
      } as const
      return (await kit.admin.publishPolicy({ body: body as never })).bundle_id
    })
    await both((stream) => stream.event('adoption'))
    await told('sessions', async () => {
      const session_id = newVpnSessionId()
      const sample = { session_id, device_id: device.id, state: 'active', rx_bytes: 1, tx_bytes: 1 }
      await client.metering({ body: meteringReport([sample]) })
      return session_id
    })
    await told('notifications', async () => encodeId('notification', (await raiseNotice(kit))!))
    const { data: alert } = await streams[0]!.event('alert')
    await kit.admin.acknowledgeNotification({ params: { notification_id: alert.raised[0] } })
    await both((stream) => stream.event('alert', (data) => data.ended.includes(alert.raised[0])))
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 7 } })
    await both((stream) => stream.changed('settings'))
    await both((stream) => stream.event('audit', (data) => data.seq > 10))
    for (const stream of streams) {
      // Ids grow. An event that is not the last of its batch has the id of the previous batch.
      const ids = stream.received.map((e) => e.id.split('-').map(Number) as [number, number])
      for (const [i, [seq, audit]] of ids.entries())
        assert.ok(i === 0 || (seq >= ids[i - 1]![0] && audit >= ids[i - 1]![1]), `${ids[i - 1]} then ${ids[i]}`)
    }
    t.diagnostic(`milliseconds until it came: ${slow.map(([kind, ms]) => `${kind} ${Math.round(ms)}`).join(', ')}`)
  })

  await t.test('a gateway that falls silent, or returns at the other replica, is reported', async () => {
    const { gateway, secret } = await makeGateway(kit, 'silent')
    const beat = (replica: Replica) =>
      kit.clientFor(secret, replica).heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
    await beat(there)
    const stream = await open(bearer(await key('viewer')))
    const count = () =>
      stream.received.filter((e) => e.event === 'gateway' && e.data.ids.includes(gateway.gateway_id)).length
    await stream.event('ready')
    await delay(100)
    await beat(there)
    const before = count()
    clock.advance(65)
    await until(() => count() > before, 'silence is told')
    const silent = count()
    await beat(there)
    await until(() => count() > silent, 'the other replica says that it is back')
  })

  await t.test('an open stream sends no SQL while nothing changes', async () => {
    const stream = await open(bearer(await key('auditor')))
    await stream.event('ready')
    await stream.event('audit')
    // Events that other replicas sequenced before they knew of the stream are looked up once.
    await delay(2000)
    assert.deepEqual(await statementsDuring(() => delay(1500)), [])
  })

  await t.test('a stream resumes after the last read event, or asks for a full reload', async () => {
    const first = await open(bearer(kit.adminKey))
    const before = await group('before')
    await first.changed('groups', before)
    await first.event('audit')
    first.close()
    const missed = await group('missed')
    const user = await makeUser(kit, 'missed')
    const resumed = await open({ ...bearer(kit.adminKey), 'last-event-id': first.lastId() }, '', there)
    await resumed.changed('groups', missed)
    await resumed.changed('users', user)
    assert.equal((await resumed.changed('sessions')).many, true, 'unlogged changes are possible')
    assert.equal(
      resumed.received.some((e) => e.event === 'reset'),
      false,
    )
    assert.equal(JSON.stringify(resumed.received).includes(before), false, 'read events are not repeated')

    const [seq, audit] = first.lastId().split('-').map(Number) as [number, number]
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx.deleteFrom('changes').where('tenant_id', '=', kit.tenant).where('seq', '<=', seq).execute(),
    )
    const unknown = [`${seq - 1}-${audit}`, `${seq + 100_000}-${audit}`, `${seq}-${audit + 100_000}`, 'x', '1-2-3', '']
    for (const id of unknown) {
      const stream = await open({ ...bearer(await key('auditor')), 'last-event-id': id })
      await stream.event('reset')
      stream.close()
    }
  })

  await t.test('a stream contains only changes that its caller can read, of its tenant', async () => {
    const other = await kit.newTenant()
    // The event of the tenant's creation is a change too, and gets its number a little later.
    const admin = await kit.as('tenant_admin', other)
    await until(async () => (await admin.listAuditEvents()).items.some(({ kind }) => kind === 'tenant.changed'))
    await kit.heard()
    const [helpdesk, viewer, foreign, platform] = [
      await open(bearer(await key('helpdesk'))),
      await open(bearer(await key('viewer'))),
      await open(bearer(await kit.keyFor('tenant_admin', other))),
      await open(bearer(kit.adminKey), `?tenant_id=${encodeId('tenant', other)}`),
    ]
    const some = await open(bearer(kit.adminKey), '?kinds=groups,devices')
    const kinds = async (stream: OpenStream) => (await stream.event('ready')).data.kinds
    assert.deepEqual(await kinds(helpdesk), ['devices', 'sessions', 'users', 'groups'])
    assert.deepEqual(await kinds(some), ['devices', 'groups'])
    const made = await group('seen by some')
    await kit.admin.createApiKey({ body: { name: 'seen by some', role: 'viewer' } })
    await raiseNotice(kit, { dedupe_key: 'some' })
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 8 } })
    for (const stream of [helpdesk, viewer, some]) await stream.changed('groups', made)
    await viewer.event('alert')
    const last = await group('last')
    for (const stream of [helpdesk, viewer, some]) await stream.changed('groups', last)
    const names = (stream: OpenStream) => [...new Set(stream.received.map((e) => e.event))].sort()
    assert.deepEqual(names(helpdesk), ['changed', 'ready'])
    assert.deepEqual(names(some), ['changed', 'ready'])
    const lists = (stream: OpenStream) =>
      [
        ...new Set(
          stream.received.flatMap((e) =>
            e.event === 'changed' ? e.data.changes.map((c: { kind: string }) => c.kind) : [],
          ),
        ),
      ].sort()
    assert.deepEqual(lists(helpdesk), ['groups'])
    assert.deepEqual(lists(some), ['groups'])
    assert.equal(names(viewer).includes('audit'), false)
    assert.deepEqual(lists(viewer), ['groups', 'notifications'])
    for (const stream of [foreign, platform]) {
      assert.deepEqual(
        lists(stream).filter((kind) => kind !== 'keys'),
        [],
        'of another tenant',
      )
      assert.equal(JSON.stringify(stream.received).includes(made), false)
    }
    const wrong = await openStream(kit.url, bearer(kit.adminKey), '?kinds=groups,nonsense')
    assert.equal(wrong.status, 400)
    assert.equal((await openStream(kit.url, {})).status, 401)
    const head = await send(kit.url, { method: 'HEAD', path: '/v1/admin/stream', headers: bearer(kit.adminKey) })
    assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'text/event-stream', ''])
  })
})
