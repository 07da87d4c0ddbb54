import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { countedMetrics, entitlementMetrics } from '@holdfast/contract/vocabulary'
import { startServer, startShell } from '../../test/support/shell.ts'

const ofEach = <V>(names: readonly string[], value: V) => Object.fromEntries(names.map((name) => [name, value]))

/** The caller's own tenant is tnt_1. */
async function start(t: TestContext, body: object) {
  const { url, asked } = await startServer(t, ({ line }) => ({
    body: line.startsWith('GET /v1/admin/me') ? { tenant_id: 'tnt_1' } : body,
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  return {
    run: (line: string) => run(line.split(' ')),
    lines: () => asked.splice(0).map(({ line }) => line.replace('GET /v1/admin/', '')),
  }
}

test('the default tenant is that of --tenant, otherwise that of the caller', async (t) => {
  const { run, lines } = await start(t, { items: [] })
  await run('tenant alerts tnt_2')
  assert.deepEqual(lines(), ['tenants/tnt_2/alerts'])
  await run('tenant alerts --tenant tnt_3')
  assert.deepEqual(lines(), ['tenants/tnt_3/alerts?tenant_id=tnt_3'])
  await run('tenant alerts')
  assert.deepEqual(lines(), ['me', 'tenants/tnt_1/alerts'])
})

test('an entitlement shows each limit and its source', async (t) => {
  const entitlement = {
    tenant_id: 'tnt_1',
    plan: 'team',
    license_state: 'active',
    limits: { ...ofEach(entitlementMetrics, null), users: 50 },
    sources: { ...ofEach(entitlementMetrics, 'none'), users: 'plan' },
  }
  const { run } = await start(t, entitlement)
  const { out } = await run('tenant entitlement')
  assert.match(
    out,
    /^plan +team\nlicense_state +active\nMETRIC +LIMIT +SET BY\nusers +50 +plan\ndevices +unlimited +-$/m,
  )
  assert.deepEqual(JSON.parse((await run('tenant entitlement --json')).out), entitlement)
})

test('a status is a table; blocked metrics and an inactive license are printed to stderr', async (t) => {
  const status = {
    tenant_id: 'tnt_1',
    license_state: 'grace',
    metrics: [
      { metric: 'users', used: 50, limit: 50, remaining: 0, percent: 100, state: 'at_limit', enforcement: 'hard' },
      { metric: 'devices', used: 3, limit: null, remaining: null, percent: null, state: 'ok', enforcement: 'hard' },
    ],
    blocked: ['users'],
  }
  const { run } = await start(t, status)
  const { code, out, err } = await run('tenant status')
  assert.equal(code, 0)
  assert.deepEqual(out.replaceAll(/ +/g, ' ').split('\n'), [
    'METRIC USED LIMIT REMAINING PERCENT STATE',
    'users 50 50 0 100 at_limit',
    'devices 3 unlimited - - ok',
    '',
  ])
  assert.equal(err, 'State of the license: grace.\nA limit is reached. Nothing can be added to: users.\n')
  assert.deepEqual(JSON.parse((await run('tenant status --json')).out), status)
})

test('alerts are one line each; an empty list is reported', async (t) => {
  const alert = {
    metric: 'users',
    level: 'over',
    used: 51,
    limit: 50,
    since: '2030-01-01T00:00:00.000Z',
    detail: 'Too.',
  }
  const some = await start(t, { items: [alert] })
  assert.match((await some.run('tenant alerts')).out, /\nusers +over +2030-01-01T00:00:00\.000Z +Too\.\n$/)
  assert.deepEqual(JSON.parse((await some.run('tenant alerts --json')).out), alert)
  const none = await start(t, { items: [] })
  assert.deepEqual(await none.run('tenant alerts'), { code: 0, out: '', err: 'Nothing is near its limit.\n' })
  assert.deepEqual(await none.run('tenant alerts --json'), { code: 0, out: '', err: '' })
})

test('usage shows the series, its totals, and the dates at which limits are reached', async (t) => {
  const [from, to] = ['2030-01-01T00:00:00.000Z', '2030-01-02T00:00:00.000Z']
  const totals = { rx_bytes: 1_500_000_000, tx_bytes: 999, sessions_started: 1 }
  const usage = {
    tenant_id: 'tnt_1',
    from,
    to,
    step: 'day',
    totals,
    series: [{ at: from, ...totals, peak: { ...ofEach(countedMetrics, 0), devices: 7 } }],
    forecast: [{ metric: 'users', used: 9, limit: 10, per_day: 0.5, reaches_limit_at: to }],
  }
  const { run, lines } = await start(t, usage)
  const { out } = await run(`tenant usage --from ${from} --to ${to} --step day`)
  assert.deepEqual(out.replaceAll(/ +/g, ' ').split('\n'), [
    'AT RX TX STARTED PEAK USERS PEAK DEVICES PEAK GATEWAYS PEAK SESSIONS PEAK API KEYS',
    '2030-01-01 1.5 GB 999 B 1 0 7 0 0 0',
    `${from} to ${to}: 1.5 GB received, 999 B sent, 1 session started`,
    'METRIC USED LIMIT PER DAY REACHES LIMIT',
    `users 9 10 0.5 ${to}`,
    '',
  ])
  assert.match(lines().at(-1) ?? '', /^tenants\/tnt_1\/usage\?from=2030-01-01T.+&to=2030-01-02T.+&step=day$/)
  assert.deepEqual(JSON.parse((await run('tenant usage --json')).out), usage)
})

test('hourly steps show the time; a tenant without limits has no forecast', async (t) => {
  const [from, to] = ['2030-01-01T22:00:00.000Z', '2030-01-01T23:00:00.000Z']
  const totals = { rx_bytes: 0, tx_bytes: 0, sessions_started: 0 }
  const series = [{ at: from, ...totals, peak: ofEach(countedMetrics, 0) }]
  const { run } = await start(t, { from, to, step: 'hour', totals, series, forecast: [] })
  const { out, err } = await run('tenant usage --step hour')
  assert.match(out, /\n2030-01-01T22:00:00\.000Z +0 B +0 B +0 /)
  assert.equal(err, 'The tenant has no limits.\n')
})
