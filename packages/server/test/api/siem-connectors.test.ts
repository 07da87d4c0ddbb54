import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signIn } from '@holdfast/sdk'
import { call } from '../support/actors/all-callers.ts'
import { refused } from '../support/actors/gateways.ts'
import { withClient } from '../support/database/test-database.ts'
import { adminPassword, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import {
  arrive,
  eventsIn,
  numbersIn,
  opened,
  type Received,
  startHttp,
  toSyslog,
  toWebhook,
  untilCame,
} from '../support/providers/siem-receivers.ts'

test('a credential is never shown, and is not sent to another origin, nor by another certificate', async (t) => {
  const kit = await startKit(t, { config: opened })
  const sink = await startHttp(kit, (_, response) => response.end('{}'))
  const credential = 'token-that-nobody-reads'
  const path = 'services-with-a-secret-in-it'
  const { connector, secret } = await kit.admin.createSiemConnector({
    body: {
      kind: 'splunk_hec',
      name: 'splunk',
      format: 'json',
      url: `${sink.url}/${path}`,
      credential,
      enabled: false,
    },
  })
  assert.deepEqual([secret, connector.credential_set, connector.origin], [null, true, sink.url])
  const params = { connector_id: connector.connector_id }
  const { delivery: _, ...shown } = await kit.admin.getSiemConnector({ params })
  const elsewhere = { ...shown, url: 'http://127.0.0.1:9999/collector' }
  const certified = { ...shown, tls: { ca_pem: null, server_name: 'elsewhere.example' } }
  for (const body of [elsewhere, certified])
    await assert.rejects(kit.admin.updateSiemConnector({ params, body }), /must be given again/)
  await kit.admin.updateSiemConnector({ params, body: { ...elsewhere, credential: 'another' } })
  const everything = JSON.stringify([
    await kit.admin.getSiemConnector({ params }),
    await kit.admin.listSiemConnectors(),
    await kit.admin.listAuditEvents({ query: { limit: 200 } }),
    kit.logs,
  ])
  for (const text of [credential, path, 'another"']) assert.ok(!everything.includes(text), text)
})

test('what could not be sent is refused by field: inner addresses, fields of another kind, no credential', async (t) => {
  const kit = await startKit(t)
  const create = (body: Parameters<typeof kit.admin.createSiemConnector>[0]['body']) =>
    kit.admin.createSiemConnector({ body: { enabled: false, ...body } })
  const field = (name: string) => (e: unknown) =>
    refused(422)(e) && (e as { errors: { field: string }[] }).errors[0]?.field === name
  await assert.rejects(create(toSyslog(5140)), field('host'))
  await assert.rejects(create(toSyslog(6514, { kind: 'syslog_tls' })), field('host'))
  for (const url of ['http://example.com', 'https://127.0.0.1', 'https://[::1]', 'https://a:b@example.com'])
    await assert.rejects(create(toWebhook(url)), field('url'), url)
  const url = 'https://sink.example.com'
  await assert.rejects(create(toWebhook(url, { index: 'x' })), field('index'))
  await assert.rejects(create(toWebhook(url, { credential: 'whsec_short' })), field('credential'))
  await assert.rejects(create(toWebhook(url, { tls: { ca_pem: 'x', server_name: null } })), field('tls.ca_pem'))
  await assert.rejects(create({ kind: 'splunk_hec', name: 'x', format: 'json', url }), field('credential'))
  await assert.rejects(create({ kind: 'opensearch', name: 'x', format: 'json', url, credential: 'x' }), field('index'))
  const { connectors } = await kit.admin.getSiemSchema()
  assert.deepEqual(Object.keys(connectors), ['syslog_tls', 'syslog_tcp', 'webhook', 'splunk_hec', 'opensearch'])
})

test('an export is begun from this site only, and not by HEAD', async (t) => {
  const kit = await startKit(t, { config: opened })
  const sink = await startHttp(kit, (_, response) => response.end())
  const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
  const { cookie } = await signIn({
    baseUrl: kit.publicUrl,
    username: 'admin',
    password: adminPassword,
    dispatcher: kit.dispatcher,
  })
  const query = `?connector_id=${connector.connector_id}&from=2020-01-01T00:00:00Z`
  const ask = async (method: string, headers: Record<string, string>) =>
    (await call(kit, { method, path: '/v1/audit/export/webhook' }, () => ({ cookie, ...headers }), undefined, query))
      .status
  assert.equal(await ask('GET', {}), 403)
  assert.equal(await ask('GET', { 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(await ask('HEAD', { 'sec-fetch-site': 'same-origin' }), 404)
  const count = () => kit.db.inTenant(kit.tenant, (tx) => tx.selectFrom('siem_streams').selectAll().execute())
  assert.equal((await count()).length, 1)
  assert.equal(await ask('GET', { 'sec-fetch-site': 'same-origin' }), 202)
  assert.equal((await count()).length, 2)
})

test('a connector that is disabled or deleted sends nothing; what retention took meanwhile is counted as lost', async (t) => {
  const kit = await startKit(t, { config: opened })
  const taken: Received[] = []
  const sink = await startHttp(kit, (request, response) => {
    taken.push(...eventsIn(request))
    response.end()
  })
  const { connector } = await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
  const params = { connector_id: connector.connector_id }
  await until(() => taken.length > 0, 'its own creation')
  const { delivery: _, ...shown } = await kit.admin.getSiemConnector({ params })
  await kit.admin.updateSiemConnector({ params, body: { ...shown, enabled: false } })
  const { delivery, ...off } = await kit.admin.getSiemConnector({ params })
  assert.deepEqual([delivery.state, delivery.lag_events], ['disabled', null])
  await arrive(kit, 10)
  const kept = (await kit.admin.listAuditEvents({ query: { limit: 200 } })).items
  assert.ok(numbersIn(kept as never).length === 10)
  await assert.rejects(kit.admin.replaySiemConnector({ params, body: { from_seq: 10_000 } }), /what lies between/)
  await withClient(kit.databaseUrl, async (client) => {
    await client.query('set session_replication_role = replica')
    await client.query(`delete from audit_log where record ~ '"operation":"n[345]"'`)
  })
  await kit.admin.updateSiemConnector({ params, body: { ...off, enabled: true } })
  await untilCame(() => taken, 7)
  assert.deepEqual(numbersIn(taken), [1, 2, 6, 7, 8, 9, 10])
  const lost = async () => (await kit.admin.getSiemConnector({ params })).delivery.lost
  await until(async () => (await lost()) === 3, 'what was lost')
  // A delivered event does not count as lost in a replay.
  await kit.admin.replaySiemConnector({ params, body: { from_seq: 1 } })
  await until(() => taken.filter((e) => e.operation === 'n10').length === 2, 'the replay')
  assert.equal(await lost(), 3)
  const others: Received[] = []
  const other = await startHttp(kit, (request, response) => {
    others.push(...eventsIn(request))
    response.end()
  })
  await kit.admin.createSiemConnector({ body: toWebhook(other.url, { name: 'other' }) })
  const { changed } = await kit.admin.deleteSiemConnector({ params })
  assert.equal(changed, true)
  await assert.rejects(kit.admin.getSiemConnector({ params }), refused(404))
  await arrive(kit, 10, 11)
  // Events for the deleted connector would be read together with these.
  await untilCame(() => others, 10)
  assert.ok(!numbersIn(taken).some((n) => n > 10))
})
