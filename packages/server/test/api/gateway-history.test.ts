import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { refused, withGateway } from '../support/actors/gateways.ts'
import { createClock, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { listenedFor } from '../support/domain/connection-reports.ts'

test('history of gateways', async (t: TestContext) => {
  const clock = createClock()
  const kit = await startKit(t, { replicas: 2, now: clock.now })
  const { admin } = kit
  await listenedFor(kit, 3600)
  const a = await withGateway(kit, 'a', 'A')
  const { gateway: b } = await admin.createGateway({ params: { pool_id: a.pool.pool_id }, body: { name: 'b' } })
  const params = { gateway_id: a.gateway.gateway_id }
  const beat = (active_sessions = 0) => a.client.heartbeat({ body: { boot_id: 'boot-1', active_sessions } })
  /** Runs the job on both replicas at once, as after a job that was considered lost. */
  const record = async () => {
    // The deployment counts as listening: the test's clock is ahead of the database's.
    await listenedFor(kit, 7200)
    await Promise.all(kit.replicas.map(({ app }) => runJob(app, 'record_gateway_states')))
  }
  const changes = (pool = 'A') =>
    kit.db.inTenant(kit.tenant, async (tx) => {
      const { rows } = await sql<{ name: string; previous_state: string | null; state: string }>`
        select g.name, c.previous_state, c.state from gateway_state_changes c
        join gateways g on g.tenant_id = ${kit.tenant} and g.gateway_id = c.gateway_id
        join gateway_pools p on p.tenant_id = ${kit.tenant} and p.pool_id = g.pool_id
        where c.tenant_id = ${kit.tenant} and p.name = ${pool} order by c.at, g.name`.execute(tx)
      return rows.map((r) => `${r.name} ${r.previous_state ?? '-'} ${r.state}`)
    })
  const read = async (range?: '24h' | '30d') =>
    admin.getGatewayHistory({ params, query: range === undefined ? {} : { range } })
  const totals = async (range?: '24h' | '30d') => {
    const sum = { healthy: 0, degraded: 0, draining: 0, down: 0, never_seen: 0, pending: 0 }
    for (const { seconds } of (await read(range)).steps)
      for (const [state, s] of Object.entries(seconds)) sum[state as keyof typeof sum] += s
    return sum
  }

  await t.test('what nobody could hear is no silence of a gateway', async () => {
    const other = await withGateway(kit, 'c', 'C')
    const said = () => other.client.heartbeat({ body: { boot_id: 'boot-1', active_sessions: 0 } })
    await said()
    await record()
    assert.deepEqual(await changes('C'), ['c - healthy'])
    clock.advance(80)
    // The deployment has just begun to listen again, and then has listened long enough to judge.
    await listenedFor(kit, 1, -80)
    await runJob(kit.app, 'record_gateway_states')
    await listenedFor(kit, 10, -80)
    await runJob(kit.app, 'record_gateway_states')
    assert.deepEqual(await changes('C'), ['c - healthy'])
  })

  await t.test('each change is written once, whoever looks', async () => {
    assert.deepEqual((await changes()).sort(), ['a - never_seen', 'b - never_seen'])
    await beat(3)
    await record()
    assert.deepEqual((await changes()).slice(2), ['a never_seen healthy'])
    clock.advance(40)
    await record()
    clock.advance(40)
    await times(3, record)
    assert.deepEqual((await changes()).slice(3), ['a healthy degraded', 'a degraded down'])
    await beat(8)
    await beat(5)
    await record()
    assert.deepEqual((await changes()).slice(5), ['a down healthy'])
  })

  await t.test('a silence that was over before anybody looked is recorded too', async () => {
    clock.advance(45)
    await beat()
    await record()
    assert.deepEqual((await changes()).slice(6), ['a healthy degraded', 'a degraded healthy'])
  })

  await t.test('the states of a gateway over 24 hours and 30 days, with the most sessions', async () => {
    const history = await read()
    assert.deepEqual([history.range, history.step_seconds, history.gateway_name], ['24h', 3600, 'a'])
    assert.equal(history.steps.length, 24)
    const { healthy, degraded, down } = await totals()
    // Silent for 80 s: degraded after 30 s, down after 60 s. Then silent for 45 s. A busy machine adds seconds.
    assert.ok(degraded >= 43 && degraded <= 60, `${degraded} s degraded`)
    assert.ok(down >= 19 && down <= 60, `${down} s down`)
    assert.ok(healthy >= 58, `${healthy} s healthy`)
    assert.equal(Math.max(...history.steps.map((s) => s.sessions_most ?? -1)), 8)
    assert.ok(history.changes >= 6)
    assert.ok(history.steps.some((s) => s.worst === 'down'))
    assert.equal(history.steps[0]!.worst, null, 'before it was created nothing is known')
    const month = await read('30d')
    assert.deepEqual([month.step_seconds, month.steps.length], [86_400, 30])
    const sum = await totals('30d')
    assert.ok(Math.abs(sum.down - down) <= 1 && Math.abs(sum.degraded - degraded) <= 2, JSON.stringify(sum))
    assert.equal(Math.max(...month.steps.map((s) => s.sessions_most ?? -1)), 8)
  })

  await t.test('all gateways, by name and page by page', async () => {
    await admin.drainGateway({ params: { gateway_id: b.gateway_id }, body: { draining: true } })
    await record()
    clock.advance(5)
    const all = await admin.listGatewayHistory({ query: { range: '24h', pool_id: a.pool.pool_id } })
    assert.deepEqual(
      all.items.map((g) => [g.gateway_name, g.pool_name, g.status, g.states.length, g.states.includes('down')]),
      [
        ['a', 'A', 'healthy', 24, true],
        ['b', 'A', 'draining', 24, false],
      ],
    )
    assert.ok(all.items[1]!.states.some((s) => s === 'never_seen' || s === 'draining'))
    const first = await admin.listGatewayHistory({ query: { limit: 1 } })
    const second = await admin.listGatewayHistory({ query: { limit: 1, cursor: first.next_cursor! } })
    assert.deepEqual([first.items[0]?.gateway_name, second.items[0]?.gateway_name], ['a', 'b'])
    assert.deepEqual(first.items[0], all.items[0])
    assert.notEqual(second.next_cursor, null)
    const strip = (await read()).steps.map((s) => s.worst)
    assert.deepEqual(strip, all.items[0]!.states)
  })

  await t.test('a gateway of somebody else is none', async () => {
    const stranger = await kit.as('viewer', await kit.newTenant())
    await assert.rejects(stranger.getGatewayHistory({ params }), refused(404))
    assert.deepEqual((await stranger.listGatewayHistory()).items, [])
    await assert.rejects(admin.getGatewayHistory({ params, query: { range: '1h' as '24h' } }), refused(400))
  })
})
