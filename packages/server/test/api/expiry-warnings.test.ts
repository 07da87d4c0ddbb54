import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { withGateway } from '../support/actors/gateways.ts'
import { createClock, type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox } from '../support/domain/notifications.ts'
import { rsaKey } from '../support/providers/saml-responses.ts'

const day = 86_400
const key = (kit: Kit, name: string, days: number) =>
  kit.admin.createApiKey({ body: { name, role: 'viewer', expires_in_seconds: days * day } })
/** All replicas at once, and all of them again. */
const warn = async (kit: Kit) => {
  await times(2, () => Promise.all(kit.replicas.map(({ app }) => runJob(app, 'warn_of_expiry'))))
}

test('of what ends administrators hear once at each threshold, on two replicas', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, replicas: 2 })
  const advance = async (days: number) => {
    clock.advance(days * day)
    await runJob(kit.app, 'ensure_partitions')
    await warn(kit)
  }
  const { api_key } = await key(kit, 'long', 31)
  await key(kit, 'short', 0.5)
  const gone = await key(kit, 'revoked', 20)
  await kit.admin.revokeApiKey({ params: { key_id: gone.api_key.key_id }, body: {} })
  await warn(kit)
  assert.deepEqual(await inbox(kit), [])

  const steps: [days: number, severity: string, title: RegExp][] = [
    [2, 'info', /^The API key long expires in 30 days or less$/],
    [15, 'info', /14 days or less$/],
    [8, 'warning', /7 days or less$/],
    [5.5, 'critical', /in a day or less$/],
    [1, 'critical', /in a day or less$/],
  ]
  for (const [days, severity, title] of steps) {
    await advance(days)
    const [warning, ...more] = await inbox(kit)
    assert.deepEqual(more, [], 'the one before is closed')
    assert.deepEqual([warning?.kind, warning?.severity, warning?.subject.id], ['expiring', severity, api_key.key_id])
    assert.match(warning?.title ?? '', title)
  }
  assert.equal((await inbox(kit, { state: 'all' })).length, 4)
  assert.equal((await eventsOf(kit, 'notification.acknowledged')).length, 3)

  // An acknowledged notification is not repeated.
  const [last] = await inbox(kit)
  await kit.admin.acknowledgeNotification({ params: { notification_id: last!.notification_id } })
  await advance(1)
  assert.deepEqual(await inbox(kit), [])
})

test('what had ended before anybody looked is said once, and closed when it is gone', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { api_key } = await key(kit, 'forgotten', 40)
  clock.advance(45 * day)
  await runJob(kit.app, 'ensure_partitions')
  await warn(kit)
  const [notice, ...more] = await inbox(kit)
  assert.deepEqual([more, notice?.severity, notice?.title], [[], 'critical', 'The API key forgotten has expired'])
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  await warn(kit)
  assert.deepEqual(await inbox(kit), [])
  const [closed] = await inbox(kit, { state: 'acknowledged' })
  assert.deepEqual(closed?.acknowledged_by, { type: 'system', id: null, name: 'system' })
})

test('what passes a threshold together is one notification, closed with the last of it', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const keys = await times(22, (i) => key(kit, `key ${i}`, 40))
  clock.advance(15 * day)
  await warn(kit)
  const [together, ...more] = await inbox(kit)
  assert.deepEqual(more, [])
  assert.equal(together?.title, '22 API keys expire in 30 days or less')
  assert.equal(together?.subject.id, null)
  assert.match(together?.detail ?? '', /\(key_\w+\)\nand 2 more: /)

  // One more key is news; the keys notified before are not.
  await key(kit, 'another', 29.5)
  await key(kit, 'and one', 31)
  clock.advance(2 * day)
  await warn(kit)
  assert.deepEqual((await inbox(kit)).map((n) => n.title).sort(), [
    '22 API keys expire in 30 days or less',
    'The API key and one expires in 30 days or less',
  ])
  const revoke = ({ api_key }: (typeof keys)[number]) =>
    kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  for (const one of keys.slice(1)) await revoke(one)
  await warn(kit)
  assert.equal((await inbox(kit)).length, 2)
  await revoke(keys[0]!)
  await warn(kit)
  assert.equal((await inbox(kit)).length, 1)
})

test('many thousand keys that end together are all warned of, and nothing is closed while it stands', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await key(kit, 'late', 40)
  clock.advance(12 * day)
  await warn(kit)
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  await client.query('set session_replication_role = replica')
  await client.query(
    `insert into api_keys (tenant_id, key_id, lookup, secret_digest, hint, name, role, created_at, expires_at)
     select $1, gen_random_uuid(), 'l' || i, '', '', 'key' || i, 'viewer', $2::timestamptz - interval '1 year',
       $2::timestamptz + interval '20 days' from generate_series(1, 5100) as i`,
    [kit.tenant, clock.now()],
  )
  await client.end()
  await warn(kit)
  const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
    sql<{ n: number }>`select count(*) as n from expiry_warnings where tenant_id = ${kit.tenant}`.execute(tx),
  )
  assert.equal(rows[0]?.n, 5_101)
  const titles = (await inbox(kit)).map((n) => n.title)
  assert.ok(titles.includes('The API key late expires in 30 days or less'), titles.join('\n'))
  const counts = titles.map((title) => Number(/^(\d+) API keys expire/.exec(title)?.[1] ?? 0))
  assert.equal(
    counts.reduce((sum, n) => sum + n),
    5_100,
  )
})

test('what renews itself is silent, and loud once it has not', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { client, gateway } = await withGateway(kit)
  await client.gatewayTrustAnchors()
  await kit.admin.rotateGatewaySecret({ params: { gateway_id: gateway.gateway_id } })
  await kit.admin.rotateTrustAnchors({ body: { mode: 'planned' } })
  await warn(kit)
  assert.deepEqual(await inbox(kit), [])
  clock.advance(3 * day)
  await kit.admin.trustAnchors()
  await runJob(kit.app, 'issue_crls')
  await warn(kit)
  assert.deepEqual(await inbox(kit), [])

  // CRLs that have not been renewed, as if the keys of their CAs were unavailable.
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`update crls set this_update = this_update - interval '14 hours', next_update = next_update - interval '14 hours'
        where der is not null`.execute(tx),
  )
  const lists = (await kit.admin.listExpiries({ query: { type: 'crl' } })).items
  assert.ok(lists.length > 0)
  assert.deepEqual([...new Set(lists.map((l) => [l.status, l.renews_itself].join()))], ['critical,false'])
  await warn(kit)
  assert.deepEqual(
    (await inbox(kit)).map((n) => [n.severity, n.subject.type]),
    [['critical', 'crl']],
  )
  await runJob(kit.app, 'issue_crls')
  await warn(kit)
  assert.deepEqual(await inbox(kit), [])
})

test('where something can not be asked, the rest is said all the same, and nothing is closed', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const { api_key } = await key(kit, 'first', 40)
  await key(kit, 'second', 43)
  const idp = { entity_id: 'https://idp.example', sso_url: 'https://idp.example/sso', certificates: [rsaKey().pem] }
  await kit.admin.createIdentityProvider({ body: { name: 'Login', kind: 'saml', saml: { idp } } })
  clock.advance(11 * day)
  await warn(kit)
  assert.equal((await inbox(kit)).length, 1)
  const setCertificate = (pem: string) =>
    kit.db.inTenant(kit.tenant, (tx) =>
      sql`update identity_providers set saml = jsonb_set(saml, '{idp,certificates,0}', to_jsonb(${pem}::text))
          where tenant_id = ${kit.tenant}`.execute(tx),
    )
  await setCertificate('no certificate')
  await kit.admin.revokeApiKey({ params: { key_id: api_key.key_id }, body: {} })
  clock.advance(3 * day)
  await warn(kit)
  const titles = async () => (await inbox(kit)).map((n) => n.title).sort()
  assert.deepEqual(await titles(), [
    'The API key first expires in 30 days or less',
    'The API key second expires in 30 days or less',
  ])
  await setCertificate(idp.certificates[0]!)
  await warn(kit)
  assert.deepEqual(await titles(), ['The API key second expires in 30 days or less'])
})
