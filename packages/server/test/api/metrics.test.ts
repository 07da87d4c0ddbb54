import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { enrollRaw } from '../support/actors/devices.ts'
import { call } from '../support/clients/api-calls.ts'
import { type Kit, runJob, startKit } from '../support/deployment/deployment.ts'

const scrape = (kit: Kit, headers: Record<string, string> = {}, path = '/metrics') =>
  fetch(kit.metricsUrl + path, { headers })
/** The value of a line, by its name and labels as written. */
const readValue = (text: string, line: string): number | undefined => {
  const found = text.split('\n').find((l) => l.startsWith(`${line} `))
  return found === undefined ? undefined : Number(found.slice(line.length + 1))
}
const startMeasured = (t: TestContext) => startKit(t, { config: { metrics: { host: '127.0.0.1', port: 0 } } })

test('requests, jobs, the database and lags have metrics, without names of subjects', async (t) => {
  const kit = await startMeasured(t)
  const { secret } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, secret, 'laptop-of-eve')
  await Promise.all([kit.admin.me(), kit.admin.me()])
  await assert.rejects(kit.admin.getUser({ params: { user_id: 'usr_none' } }))
  const digest = await call(kit, { method: 'GET', path: '/v1/policy/digest' }, device.caller)
  assert.equal(digest.status, 200)
  await runJob(kit.app, 'count_entitlements')
  const answer = await scrape(kit)
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const text = await answer.text()
  const is = (line: string, value: number) => assert.equal(readValue(text, line), value, line)
  is('holdfast_http_requests_total{operation="me",status="200"}', 2)
  is('holdfast_http_requests_total{operation="getUser",status="404"}', 1)
  is('holdfast_http_requests_total{operation="policyDigest",status="200"}', 1)
  is('holdfast_http_request_duration_seconds_count{operation="me"}', 2)
  is('holdfast_http_request_duration_seconds_bucket{operation="me",le="+Inf"}', 2)
  is('holdfast_job_runs_total{task="count_entitlements",outcome="succeeded"}', 1)
  is('holdfast_entities{kind="devices"}', 1)
  is('holdfast_siem_connectors{state="active"}', 0)
  is('holdfast_database_up', 1)
  is('holdfast_database_connections_max', 4)
  assert.ok((readValue(text, 'holdfast_change_feed_age_seconds') ?? 9) < 5)
  assert.ok((readValue(text, 'process_resident_memory_bytes') ?? 0) > 1e7)
  for (const word of ['laptop', 'default', kit.tenant, device.id, 'admin']) assert.ok(!text.includes(word), word)
  assert.deepEqual(
    [(await scrape(kit, {}, '/')).status, (await fetch(`${kit.metricsUrl}/metrics`, { method: 'POST' })).status],
    [404, 405],
  )
})

const page = (file: string) => readFileSync(join(import.meta.dirname, '../../../../docs', file), 'utf8')
const namesIn = (text: string) => new Set(text.match(/\b(?:holdfast|process|nodejs)_[a-z_]+\b/g))

test('docs/metrics.md names every metric, and the dashboard uses only existing ones', async (t) => {
  const kit = await startMeasured(t)
  await kit.admin.me()
  const text = await (await scrape(kit)).text()
  const told = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!).sort()
  const table = [...page('metrics.md').matchAll(/^\| `([a-z_]+)`/gm)].map(([, name]) => name!).sort()
  assert.deepEqual(table, told)
  const lines = new Set([...text.matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name]) => name!))
  const { panels } = JSON.parse(page('grafana/holdfast.json')) as { panels: { targets: { expr: string }[] }[] }
  const asked = panels.flatMap((panel) => panel.targets.flatMap(({ expr }) => [...namesIn(expr)]))
  assert.ok(asked.length > 20)
  assert.deepEqual(
    asked.filter((name) => !lines.has(name)),
    [],
  )
})

test('metrics with a token are refused without it', async (t) => {
  const secret = 'a-token-of-at-least-thirty-two-characters'
  const kit = await startKit(t, {
    config: { metrics: { host: '127.0.0.1', port: 0 } },
    secrets: { metricsToken: secret },
  })
  const bearers = [{}, { authorization: `Bearer ${secret}x` }, { authorization: secret }, { authorization: 'Bearer ' }]
  for (const headers of bearers) {
    const refused = await scrape(kit, headers as Record<string, string>)
    assert.deepEqual([refused.status, await refused.text()], [401, ''])
  }
  assert.equal((await scrape(kit, { authorization: `Bearer ${secret}` })).status, 200)
  assert.equal((await scrape(kit, {}, '/nothing')).status, 401)
})
