import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearer, call, operation } from '../support/actors/all-callers.ts'
import { createClock, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { listenedFor } from '../support/domain/connection-reports.ts'
import { inbox, run } from '../support/domain/notifications.ts'

test('a silent gateway is reported once, and closed by the system when it is back', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const pool = await kit.admin.createGatewayPool({ body: { name: 'eu', region: { code: 'eu' } } })
  const make = (name: string) => kit.admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name } })
  const [used, drained] = [await make('eu-1'), await make('eu-2')]
  await make('never-seen')
  const beat = async (secret: string) => {
    const answer = await call(kit, operation('heartbeat'), bearer(secret), { boot_id: 'b', active_sessions: 0 })
    assert.equal(answer.status, 200, answer.text)
  }
  await beat(used.secret)
  await beat(drained.secret)
  await kit.admin.drainGateway({ params: { gateway_id: drained.gateway.gateway_id }, body: { draining: true } })
  await run(kit, 'watch_gateways')
  assert.deepEqual(await inbox(kit), [])

  clock.advance(61)
  // The deployment did not listen. After such an outage a gateway gets time to report, and is then down.
  await listenedFor(kit, 50, -61)
  await run(kit, 'watch_gateways')
  assert.deepEqual(await inbox(kit), [])
  await listenedFor(kit, 61, -61)
  await Promise.all([run(kit, 'watch_gateways'), run(kit, 'watch_gateways')])
  const [down, ...more] = await inbox(kit)
  assert.equal(more.length, 0)
  assert.deepEqual(
    [down?.kind, down?.severity, down?.subject.id],
    ['gateway.down', 'critical', used.gateway.gateway_id],
  )

  await beat(used.secret)
  await Promise.all([run(kit, 'watch_gateways'), run(kit, 'watch_gateways')])
  assert.deepEqual(await inbox(kit), [])
  const [closed] = await inbox(kit, { state: 'acknowledged' })
  assert.deepEqual(closed?.acknowledged_by, { type: 'system', id: null, name: 'system' })
  assert.equal((await eventsOf(kit, 'notification.acknowledged')).length, 1)

  // The next silence is a new cause; once acknowledged, it is not notified again.
  clock.advance(61)
  await run(kit, 'watch_gateways')
  // Nor does it count as back while the deployment does not listen.
  await listenedFor(kit, 0, -80)
  await run(kit, 'watch_gateways')
  await listenedFor(kit, 122)
  const [again] = await inbox(kit)
  await kit.admin.acknowledgeNotification({ params: { notification_id: again!.notification_id } })
  clock.advance(600)
  await run(kit, 'watch_gateways')
  assert.deepEqual(await inbox(kit), [])
})
