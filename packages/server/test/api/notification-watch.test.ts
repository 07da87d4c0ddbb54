import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsOf } from '../events.ts'
import { createClock, startKit } from '../kit.ts'
import { inbox, run } from '../notices.ts'
import { bearer, call, operation } from '../world.ts'

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

  // The next silence is another cause; who acknowledges it is not told of it again.
  clock.advance(61)
  await run(kit, 'watch_gateways')
  const [again] = await inbox(kit)
  await kit.admin.acknowledgeNotification({ params: { notification_id: again!.notification_id } })
  clock.advance(600)
  await run(kit, 'watch_gateways')
  assert.deepEqual(await inbox(kit), [])
})

test('what expires is warned of once at each threshold', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const create = (name: string, days: number) =>
    kit.admin.createApiKey({ body: { name, role: 'viewer', expires_in_seconds: days * 86_400 } })
  const { api_key } = await create('long', 31)
  await create('short', 0.5)
  const gone = await create('revoked', 20)
  await kit.admin.revokeApiKey({ params: { key_id: gone.api_key.key_id }, body: {} })
  await run(kit, 'warn_of_expiry')
  assert.deepEqual(await inbox(kit), [])

  const steps: [days: number, severity: string][] = [
    [2, 'info'],
    [15, 'info'],
    [8, 'warning'],
    [5.5, 'critical'],
  ]
  for (const [days, severity] of steps) {
    clock.advance(days * 86_400)
    await run(kit, 'ensure_partitions')
    await Promise.all([run(kit, 'warn_of_expiry'), run(kit, 'warn_of_expiry')])
    const [warning, ...more] = await inbox(kit)
    assert.equal(more.length, 0, JSON.stringify(more))
    assert.deepEqual([warning?.kind, warning?.severity, warning?.subject.id], ['expiring', severity, api_key.key_id])
    await kit.admin.acknowledgeNotification({ params: { notification_id: warning!.notification_id } })
    await run(kit, 'warn_of_expiry')
    assert.deepEqual(await inbox(kit), [])
  }
  clock.advance(86_400)
  await run(kit, 'warn_of_expiry')
  assert.deepEqual(await inbox(kit), [])
})
