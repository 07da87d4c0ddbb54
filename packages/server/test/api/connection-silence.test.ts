import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { decodeId } from '../../src/kernel/ids.ts'
import { enroll, newSession, publish, rule, withGateway } from '../support/actors/gateways.ts'
import { runJob, startKit } from '../support/deployment/deployment.ts'
import { createWitnesses, listenedFor } from '../support/domain/connection-reports.ts'

test('gateways that fall silent', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { client } = await withGateway(kit)
  const other = await withGateway(kit, 'g2')
  await publish(kit, [rule('all', { any: true })])
  const { meter, later, truthOf, alerts, judge, beat } = createWitnesses(kit, client)
  await beat()
  await listenedFor(kit, 3600)

  await t.test('metering that stops: stale, with an alert while its gateway is heard of', async () => {
    const device = await enroll(kit, 'unmetered')
    const session = newSession()
    await meter(device, session)
    await later(device, 149)
    await judge()
    assert.deepEqual(await truthOf(device, 'stale'), [])
    await later(device, 2)
    // The deployment did not listen for a while.
    await listenedFor(kit, 3600, 120)
    await judge()
    assert.deepEqual(await truthOf(device, 'stale'), [])
    await listenedFor(kit, 151)
    await judge()
    const [found] = await truthOf(device, 'stale')
    assert.deepEqual(
      found?.disagreements.map((d) => d.field),
      ['silence'],
    )
    assert.ok((found?.gateway?.age_seconds ?? 0) > 150)
    assert.deepEqual(await alerts('connection.stale'), ['1 connection of gateway g1 is stale'])
    // The state after a sweep that crashed once it had settled the last one.
    await meter(device, session)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`delete from connections_in_question where tenant_id = ${kit.tenant}`.execute(tx),
    )
    await judge()
    assert.deepEqual(await alerts('connection.stale'), [])
  })

  await t.test('of a gateway that is down administrators hear as such, and not of its connections', async () => {
    const device = await enroll(kit, 'lost')
    await meter(device, newSession(), {}, other.client)
    await later(device, 200)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update gateway_activity set last_seen_at = last_seen_at - interval '200 seconds'
        where tenant_id = ${kit.tenant} and gateway_id = ${decodeId('gateway', other.gateway.gateway_id)}`.execute(tx),
    )
    // On the other replica, which did not receive the reports.
    await runJob(kit.replicas[1]!.app, 'judge_connections')
    assert.equal((await truthOf(device, 'stale')).length, 1)
    assert.deepEqual(await alerts('connection.stale'), [])

    // The gateway is back, but has not reported metering yet.
    await beat(other.client)
    await judge()
    assert.deepEqual(await alerts('connection.stale'), [])
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update gateway_activity set up_since = up_since - interval '150 seconds'
        where tenant_id = ${kit.tenant} and up_since is not null`.execute(tx),
    )
    await beat(other.client)
    await judge()
    assert.deepEqual(await alerts('connection.stale'), ['1 connection of gateway g2 is stale'])
  })
  await t.test('a device of an ephemeral token is revoked for a silence that somebody listened to', async () => {
    const device = await enroll(kit, 'ephemeral', { ephemeral_seconds: 86_400 })
    const id = decodeId('device', device.id)
    await kit.db.inTenant(kit.tenant, async (tx) => {
      const past = sql`interval '2 days'`
      await sql`update devices set enrolled_at = enrolled_at - ${past}
        where tenant_id = ${kit.tenant} and device_id = ${id}`.execute(tx)
      await sql`update device_activity set last_seen_at = last_seen_at - ${past}
        where tenant_id = ${kit.tenant} and device_id = ${id}`.execute(tx)
    })
    const statusAfter = async () => {
      await runJob(kit.app, 'revoke_silent_devices')
      return (await kit.admin.getDevice({ params: { device_id: device.id } })).status
    }
    // After an outage the device has a quarter of an hour to return.
    await listenedFor(kit, 200_000, 120)
    assert.equal(await statusAfter(), 'active')
    await listenedFor(kit, 890)
    assert.equal(await statusAfter(), 'active')
    await listenedFor(kit, 901)
    assert.equal(await statusAfter(), 'revoked')
  })
})
