import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configureKept } from '../../src/db/kept.ts'
import { connectOwner, forget, type Owner, settle } from '../support/database/retention.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'

const kinds = ['free', "the user's", "the device's"] as const
type Kind = (typeof kinds)[number]
const user = crypto.randomUUID()

/**
 * The retention begins in the middle of March. Each month has one row of each kind, at the same ctid in each partition.
 */
const over = ['2020-01-10', '2020-02-10']
const young = ['2020-04-10', '2020-05-10']
/** A different device in each month, since a device is revoked only once. */
const devices: Record<string, string> = Object.fromEntries([...over, ...young].map((m) => [m, crypto.randomUUID()]))
const daysSince = (day: string) => Math.floor((Date.now() - Date.parse(day)) / 86_400_000)

/** Rows of each kind for a tenant ($1), a user ($2) and a device ($3), with their time ($4). */
const rows = `(values ('free', gen_random_uuid(), gen_random_uuid(), $4::timestamptz), ('the user''s', $2::uuid, gen_random_uuid(), $4),
  ('the device''s', gen_random_uuid(), $3::uuid, $4)) as r (kind, user_id, device_id, moment)`
const ofSession = `insert into vpn_sessions (tenant_id, session_id, device_id, user_id, gateway_id, pool_id, state, started_at,
    last_seen_at, ended_at, end_reason, protocol, client_version, auth_method, posture_verdict)
  select $1, gen_random_uuid(), device_id, user_id, gen_random_uuid(), gen_random_uuid()`
const classes: Record<string, { table: string; told: string; at: string; insert: string; keeps: [Kind[], Kind[]] }> = {
  vpn_sessions: {
    table: 'vpn_sessions',
    told: 'client_version',
    at: 'ended_at',
    insert: `${ofSession}, 'ended', moment - interval '1 hour', moment, moment, 'gateway', 'wireguard', kind, 'device', 'pass' from ${rows}`,
    keeps: [["the user's"], ["the device's"]],
  },
  telemetry: {
    table: 'telemetry_events',
    told: 'event_id',
    at: 'at',
    insert: `insert into telemetry_events (tenant_id, at, device_id, event_id, kind)
      select $1, moment, device_id, kind, 'connected' from ${rows}`,
    keeps: [[...kinds], ["the device's"]],
  },
  metering: {
    table: 'metering_reports',
    told: 'report_id',
    at: 'interval_end',
    insert: `insert into metering_reports (tenant_id, interval_end, gateway_id, boot_id, sequence, report_id, interval_start,
        samples, rx_bytes, tx_bytes)
      select $1, moment, device_id, 'boot', 1, kind, moment, 1, 1, 1 from ${rows}`,
    keeps: [[...kinds], [...kinds]],
  },
  revoked_devices: {
    table: 'devices',
    told: 'platform',
    at: 'revoked_at',
    insert: `insert into devices (tenant_id, device_id, user_id, name, platform, status, address_number,
        credential_expires_at, credential_renew_after, enrolled_method, revoked_at)
      select $1, device_id, user_id, '', kind, 'revoked', 0, now(), now(), 'token', moment from ${rows}`,
    keeps: [["the user's"], ["the device's"]],
  },
  admin_sessions: {
    table: 'admin_sessions',
    told: 'auth_method',
    at: 'ended_at',
    insert: `insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at, last_seen_at,
        idle_seconds, expires_at, ended_at, end_reason)
      select $1, gen_random_uuid(), user_id, decode(md5(device_id::text || moment), 'hex'), kind, moment, moment, 60, moment, moment, 'timeout'
      from ${rows}`,
    keeps: [["the user's"], [...kinds]],
  },
  notifications: {
    table: 'notifications',
    told: 'title',
    at: 'acknowledged_at',
    insert: `insert into notifications (tenant_id, notification_id, kind, severity, title, detail, subject_type, created_at,
        acknowledged_at, acknowledged_by_type)
      select $1, gen_random_uuid(), 'expiring', 'info', kind, '', 'tenant', moment, moment, 'user' from ${rows}`,
    keeps: [[...kinds], [...kinds]],
  },
  policy: {
    table: 'policy_bundles',
    told: 'digest',
    at: 'published_at',
    // Version numbers far apart, so that these rows are not among the newest 200 versions.
    insert: `insert into policy_bundles (tenant_id, bundle_id, version, seq, channel, digest, document, resolution, tests,
        impact, published_at)
      select $1, gen_random_uuid(), extract(epoch from moment)::bigint / 100 + row_number() over (), 1, 'stable',
        kind, '{}', '{}', '{}', '{}', moment from ${rows}`,
    keeps: [[...kinds], [...kinds]],
  },
  enrollment_tokens: {
    table: 'enrollment_tokens',
    told: 'name',
    at: 'expires_at',
    insert: `insert into enrollment_tokens (tenant_id, token_id, lookup, secret_digest, hint, name, kind, max_uses, expires_at)
      select $1, gen_random_uuid(), gen_random_uuid()::text, '', '', kind, 'enroll', 1, moment from ${rows}`,
    keeps: [[...kinds], [...kinds]],
  },
}

/** A tenant that keeps everything since the middle of March, with these rows and optional holds. */
async function addTenant(kit: Kit, owner: Owner, holds: { user?: string; device?: string }[] = []) {
  const tenant = await kit.newTenant()
  await owner.query('set session_replication_role = replica')
  for (const { insert } of Object.values(classes))
    for (const moment of [...over, ...young]) await owner.query(insert, [tenant, user, devices[moment], moment])
  // A session that has been active for a long time.
  await owner.query(
    `${ofSession}, 'active', moment, moment, null, null, 'wireguard', 'runs', 'device', 'pass' from ${rows}`,
    [tenant, user, devices[over[0]!], over[0]],
  )
  const days = Object.fromEntries(Object.keys(classes).map((name) => [name, daysSince('2020-03-15')]))
  await owner.query(`insert into retention_settings (tenant_id, days, updated_at) values ($1, $2, now())`, [
    tenant,
    days,
  ])
  for (const hold of holds)
    await owner.query(
      `insert into legal_holds (tenant_id, legal_hold_id, reason, placed_at, placed_by_type, user_id, device_id)
       values ($1, gen_random_uuid(), 'proceedings', now(), 'user', $2, $3)`,
      [tenant, hold.user, hold.device],
    )
  await owner.query('set session_replication_role = default')
  return tenant
}

/** The remaining rows, as month and kind. */
async function left(owner: Owner, tenant: string, name: string) {
  const { table, told, at } = classes[name]!
  const { rows } = await owner.query<{ what: string }>(
    `select to_char(${at} at time zone 'utc', 'YYYY-MM-DD ') || ${told} as what from ${table}
     where tenant_id = $1 and ${at} < '2021-01-01' order by 1`,
    [tenant],
  )
  return rows.map((r) => r.what)
}
const expected = (kept: readonly Kind[]) =>
  [...over.flatMap((month) => kept.map((kind) => `${month} ${kind}`)), ...young.flatMap(allOf)].sort()
const allOf = (month: string) => kinds.map((kind) => `${month} ${kind}`)

test('of each class exactly what is over and not held goes, whatever lies at the same place of another month', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  for (const moment of ['2020-02-10', '2020-04-10']) await owner.query('call ensure_partitions($1)', [moment])
  const most = 36_500
  await configureKept(kit.databaseUrl, {
    audit: null,
    vpn_sessions: most,
    telemetry: most,
    metering: most,
    revoked_devices: most,
  })
  const tenants = {
    'no hold': await addTenant(kit, owner),
    'a hold of all': await addTenant(kit, owner, [{}]),
    'a hold of a user': await addTenant(kit, owner, [{ user }]),
    'a hold of a device': await addTenant(
      kit,
      owner,
      Object.values(devices).map((device) => ({ device })),
    ),
  }
  await settle(owner)
  const { rows: places } = await owner.query<{ n: number }>(
    `select count(distinct tableoid)::int as n from vpn_sessions where tenant_id = $1 group by ctid`,
    [tenants['no hold']],
  )
  assert.deepEqual(
    places.map((p) => p.n),
    [5, 5, 5],
    'each place is one of five tables',
  )

  await forget(kit)
  for (const [name, { keeps }] of Object.entries(classes)) {
    const kept = { 'no hold': [], 'a hold of all': kinds, 'a hold of a user': keeps[0], 'a hold of a device': keeps[1] }
    for (const [hold, tenant] of Object.entries(tenants))
      assert.deepEqual(await left(owner, tenant, name), expected(kept[hold as keyof typeof kept]), `${name}: ${hold}`)
  }
  const { rows: running } = await owner.query(`select from vpn_sessions where client_version = 'runs'`)
  assert.equal(running.length, 12)
})
