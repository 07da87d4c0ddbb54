import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient, openGateway, signIn } from '@holdfast/sdk'
import pg from 'pg'
import { decodeId } from '../../src/kernel/ids.ts'
import { enrollRaw } from '../support/actors/devices.ts'
import { newWireguardKey, region } from '../support/actors/gateways.ts'
import { dispatcherTo, times } from '../support/deployment/deployment.ts'
import { processPassword, startProcesses } from '../support/deployment/server-processes.ts'
import { rule } from '../support/domain/policy.ts'

const publicUrl = 'http://holdfast.test'
const gatewayCount = 10
/** Longer than a lease. */
const patienceMs = 40_000
async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await delay(20)) if (await holds()) return
  assert.fail(`${what} did not come to hold`)
}

test('lost_device with ten gateways takes at most two seconds, and completes once after a kill', async (t) => {
  const { database, start } = await startProcesses(t)
  const sql = async () => {
    const client = new pg.Client({ connectionString: database.url })
    client.on('error', () => {})
    await client.connect()
    t.after(() => client.end())
    return client
  }
  const asks = await sql()
  const finds = async (question: string) => (await asks.query(question)).rows.length > 0
  const environment = { HOLDFAST_PUBLIC_URL: publicUrl }
  let process = await start(undefined, environment)
  const { port } = process
  const dispatcher = dispatcherTo(`http://127.0.0.1:${port}`)
  const ending = new AbortController()
  const pulling: Promise<void>[] = []
  t.after(async () => {
    ending.abort()
    await Promise.all(pulling)
    await dispatcher.destroy()
  })

  const { client } = await signIn({ baseUrl: publicUrl, username: 'admin', password: processPassword, dispatcher })
  const { secret: credential } = await client.createApiKey({ body: { name: 'key', role: 'platform_admin' } })
  const admin = createClient({ baseUrl: publicUrl, credential, dispatcher })
  const { tenant_id: tenantId } = await admin.me()
  const { pool_id } = await admin.createGatewayPool({ body: { name: 'pool', region } })
  const policy = { schema: 'holdfast.policy/1', rules: [rule('all', { any: true }, ['pool'])] }
  await admin.publishPolicy({ body: { channel: 'stable', policy } })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0 } })
  const names = ['in time', 'before', 'after'] as const
  const devices = await times(names.length, (i) => enrollRaw({ publicUrl, dispatcher }, token, names[i]))

  const gateways = await times(gatewayCount, async (i) => {
    const body = { name: `gw-${i}`, public_key: newWireguardKey() }
    const { gateway, secret } = await admin.createGateway({ params: { pool_id }, body })
    const opened = openGateway({ baseUrl: publicUrl, secret, dispatcher, gatewayId: gateway.gateway_id, tenantId })
    const beat = async () => void (await opened.heartbeat({ active_sessions: 0 }).catch(() => {}))
    pulling.push(opened.runPulling({ signal: ending.signal, onChange: () => {}, onApplied: beat }))
    return opened
  })
  const knows = (count: number) => gateways.every((g) => g.state?.peers.size === count)
  await until(() => knows(devices.length), 'all gateways know all devices')
  const lost = (i: number) =>
    admin.runPlaybook({ body: { playbook: 'lost_device', params: { device_id: devices[i]!.id } } })

  const began = performance.now()
  const { run } = await lost(0)
  const took = Math.round(performance.now() - began)
  assert.deepEqual([run.status, run.steps[1]?.result.confirmed], ['succeeded', gatewayCount], JSON.stringify(run.steps))
  assert.ok(knows(devices.length - 1))
  t.diagnostic(`lost_device: ${gatewayCount} gateways confirmed ${took} ms after the call`)
  assert.ok(took <= 2000, `${took} ms`)

  // `before`: killed while the change waits. `after`: killed after the commit, before the run has recorded it.
  for (const [i, when] of names.entries()) {
    if (i === 0) continue
    const device = decodeId('device', devices[i]!.id)
    const [holdsDevice, holdsRun] = [await sql(), await sql()]
    await holdsDevice.query(`begin; select from devices where device_id = '${device}' for update`)
    const asked = lost(i).catch(() => undefined)
    const isBegun = "select from workflow_steps where step = 1 and status = 'running'"
    await until(() => finds(isBegun), 'the first step begins')
    // The step takes its claim under the lock of the run, before the change.
    const waits = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%"devices"%'`
    await until(() => finds(waits), 'the change waits for the device')
    if (when === 'after') {
      await holdsRun.query("begin; select from workflow_runs where status = 'running' for update")
      await holdsDevice.query('commit')
      const settled = "select from idempotency_keys where principal like 'workflow_run:%' and state = 'done'"
      await until(async () => (await asks.query(settled)).rows.length === i + 1, 'the change')
    }
    process.kill()
    await process.end()
    await asked
    await holdsDevice.query('rollback')
    await holdsRun.query('rollback')
    process = await start(undefined, { ...environment, HOLDFAST_PORT: String(port) })
    const started = performance.now()
    await until(async () => !(await finds("select from workflow_runs where status = 'running'")), 'the run ends')
    const tookMs = Math.round(performance.now() - started)
    t.diagnostic(`killed ${when} the change: finished ${tookMs} ms after the next start`)
    const { rows: runs } = await asks.query('select status from workflow_runs')
    assert.deepEqual(
      runs.map((r) => r.status),
      names.slice(0, i + 1).map(() => 'succeeded'),
    )
    const { rows: confirmed } = await asks.query(
      "select result -> 'confirmed' as n from workflow_steps where step = 2 order by started_at desc limit 1",
    )
    assert.equal(confirmed[0].n, gatewayCount)
    assert.ok(knows(devices.length - 1 - i))
    const { rows } = await asks.query(
      `select from (select record from audit_log union all select record from audit_arrivals) as e
       where record::jsonb ->> 'kind' = 'device.changed' and record::jsonb ->> 'operation' = 'revoke'
         and record::jsonb ->> 'device_id' = $1`,
      [devices[i]!.id],
    )
    assert.equal(rows.length, 1, `${when}: revoked once`)
  }
  process.kill()
  await process.end()
})
