import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import { makeUser, signInAs } from '../support/actors/people.ts'
import { type Opened, openStreams } from '../support/clients/change-streams.ts'
import { createClock, type Replica, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

test('how a stream of changes ends', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const [here, there] = kit.replicas as [Replica, Replica]
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const open = openStreams(t, kit)
  const key = async (role: Parameters<typeof kit.keyFor>[0]) => kit.keyFor(role)

  await t.test('it ends within a second, saying why, when the caller may do so no more', async () => {
    const { api_key, secret } = await kit.admin.createApiKey({ body: { name: 'ended', role: 'viewer' } })
    const ofKey = await open(bearer(secret), '', there)
    await makeUser(kit, 'ended', ['viewer'])
    const person = await signInAs(kit, 'ended')
    const moved = await makeUser(kit, 'moved', ['viewer'])
    const other = await signInAs(kit, 'moved')
    const leaver = await makeUser(kit, 'leaver', ['viewer'])
    const left = await signInAs(kit, 'leaver')
    const tenant = await kit.newTenant()
    const [ofSession, ofMoved, ofLeaver, ofTenant] = [
      await open({ cookie: person.cookie() }, '', there),
      await open({ cookie: other.cookie() }, '', there),
      await open({ cookie: left.cookie() }, '', there),
      await open(bearer(await kit.keyFor('viewer', tenant)), '', there),
    ]
    const ends = async (stream: Opened, reason: string, act: () => Promise<unknown>) => {
      await stream.event('ready')
      await act()
      assert.equal((await stream.event('end')).data.reason, reason)
      await until(() => stream.isClosed(), 'the connection is closed')
    }
    await ends(ofKey, 'key_ended', () => kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} }))
    await ends(ofSession, 'session_ended', () => person.post('/admin/logout'))
    await ends(ofMoved, 'permissions_changed', () => kit.admin.grantRole({ body: { user_id: moved, role: 'auditor' } }))
    await ends(ofLeaver, 'session_ended', () => kit.admin.suspendUser({ body: { user_id: leaver } }))
    const tenant_id = encodeId('tenant', tenant)
    await ends(ofTenant, 'tenant_suspended', () =>
      kit.admin.changeTenant({ body: { operation: 'suspend', tenant_id } }),
    )
  })

  await t.test('a fourth stream of a caller ends the oldest, and a flood is told as many', async () => {
    const viewer = bearer(await key('viewer'))
    const streams = await times(3, () => open(viewer))
    const newest = await open(viewer)
    await newest.event('ready')
    await until(() => streams.filter((s) => s.received.some((e) => e.event === 'end')).length === 1, 'one ends')
    const [replaced] = streams.filter((s) => s.received.some((e) => e.event === 'end'))
    assert.equal((await replaced!.event('end')).data.reason, 'replaced')
    assert.match(replaced!.text(), /retry: 600000/)

    // Many changes at once are announced as a single one without ids.
    const changes = times(60, () => Promise.resolve({ kind: 'device' as const, subject: newUuid() }))
    const list = await changes
    await kit.db.inTenant(kit.tenant, (tx) => kit.app.changes.record(tx, kit.tenant, list))
    assert.deepEqual(await newest.changed('devices'), { kind: 'devices', ids: [], many: true })
    const before = newest.received.length
    for (let i = 0; i < 20; i++)
      await kit.db.inTenant(kit.tenant, (tx) => kit.app.changes.record(tx, kit.tenant, [list[i]!]))
    await newest.changed('devices', encodeId('device', list[19]!.subject))
    assert.ok(newest.received.length - before <= 20)
  })

  await t.test(
    'an open stream and background requests let a session end in time; one ordinary request prolongs it',
    async () => {
      await changeSecuritySettings(kit.admin, { sessions: { idle_seconds: 600, absolute_seconds: 7200 } })
      await kit.heard()
      await makeUser(kit, 'idle', ['viewer'])
      const person = await signInAs(kit, 'idle')
      const background = (replica: Replica, path = '/v1/admin/me') =>
        person.request({ path, headers: { 'holdfast-background': '1' } }, replica)
      const idleEnd = async (replica: Replica) => (await background(replica)).json.session.idle_expires_at
      const stream = await open({ cookie: person.cookie() }, '', there)
      await stream.event('ready')
      /** Activity seen by another replica is written a little later. */
      const isNear = (a: string, b: string) => Math.abs(Date.parse(a) - Date.parse(b)) < 1000
      const end = await idleEnd(here)
      assert.ok(Math.abs(Date.parse(end) - clock.now().getTime() - 600_000) < 20_000)
      for (let i = 0; i < 4; i++) {
        clock.advance(115)
        for (const replica of kit.replicas) {
          assert.ok(isNear(await idleEnd(replica), end))
          assert.equal((await background(replica, '/v1/admin/devices')).status, 200)
        }
      }
      assert.equal(
        stream.received.some((e) => e.event === 'expires'),
        false,
        'not earlier than two minutes before',
      )
      clock.advance(30)
      const { data } = await stream.event('expires')
      assert.ok(isNear(data.at, end) && data.cause === 'idle')

      const headers = { 'holdfast-background': '1' }
      const head = await person.request({ method: 'HEAD', path: '/v1/admin/me', headers }, there)
      assert.equal(head.status, 200)
      assert.ok(isNear(await idleEnd(there), end), 'nor does HEAD')
      const path = '/v1/admin/policy/validate'
      assert.notEqual((await person.request({ method: 'POST', path, headers, json: {} }, there)).status, 401)
      const later = await idleEnd(there)
      assert.ok(Date.parse(later) >= Date.parse(end) + 480_000, 'a change prolongs it, also with the header')
      clock.advance(3)
      assert.deepEqual((await stream.event('expires', ({ at }) => !isNear(at, end))).data, { at: later, cause: 'idle' })
      clock.advance(590)
      for (const replica of kit.replicas) assert.equal((await background(replica)).status, 200)
      clock.advance(12)
      assert.equal((await stream.event('end')).data.reason, 'session_ended')
      for (const replica of kit.replicas) {
        assert.equal((await background(replica)).status, 401)
        assert.equal((await person.get('/v1/admin/me', replica)).status, 401)
      }
      const { items } = await kit.admin.listAuditEvents({ query: { kind: 'session.expired', limit: 1 } })
      assert.equal((items[0] as { reason?: string }).reason, 'timeout')
    },
  )

  await t.test('a replica that stops says so, and ends its streams in order', async () => {
    const third = await kit.startReplica()
    const stream = await open(bearer(await key('viewer')), '', third)
    await stream.event('ready')
    const since = performance.now()
    await third.stop()
    assert.equal((await stream.event('end')).data.reason, 'stopping')
    assert.ok(performance.now() - since < 4000, 'it is not cut')
    assert.match(stream.text(), /retry: \d+\n\nevent: end/)
  })
})
