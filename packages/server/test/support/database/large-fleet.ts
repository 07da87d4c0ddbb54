import pg from 'pg'

/** Words of names. Each name ends with the number of its device. */
const kinds = `array['laptop', 'laptop', 'laptop', 'desktop', 'phone', 'phone', 'tablet', 'build', 'kiosk', 'scanner']`
const cities = `array['berlin', 'paris', 'madrid', 'oslo', 'milan', 'lisbon', 'vienna', 'athens', 'dublin', 'prague', 'zurich']`
const firstNames = `array['anna', 'ben', 'carla', 'david', 'elena', 'felix', 'greta', 'hugo', 'ida', 'jonas', 'klara', 'liam', 'mia']`
const lastNames = `array['schmidt', 'rossi', 'novak', 'garcia', 'dubois', 'larsen', 'kowalski', 'murphy', 'fischer', 'costa', 'horvat']`
const pick = (array: string, n: string) => `(${array})[1 + (${n})::int % array_length(${array}, 1)]`
/** The same value for the same device, spread evenly over [0, 1) and independent of each other `salt`. */
const share = (salt: string) => `((hashtextextended('${salt}', i) & 1048575)::float8 / 1048576)`
const uuidOf = (noun: string, n: string) => `md5('${noun}' || ${n} || $1::text)::uuid`

const groups = 300
const gateways = 10
/** Devices are inserted by so many, as one statement of a million keeps all its rows for the triggers. */
const batch = 15_000

const ground = [
  `insert into groups (tenant_id, group_id, name) select $1::uuid, ${uuidOf('group', 'i')}, 'Team ' || i
     from generate_series(0, ${groups}) as i`,
  `insert into gateway_pools (tenant_id, pool_id, name, region, protocol, selection)
     select $1::uuid, ${uuidOf('pool', 'i')}, 'pool-' || i, '{"code": "eu-1", "name": "Frankfurt", "lat": 50.1, "lon": 8.7}',
       'wireguard', 'latency' from generate_series(0, 2) as i`,
  `insert into gateways (tenant_id, gateway_id, pool_id, name) select $1::uuid, ${uuidOf('gateway', 'i')},
     ${uuidOf('pool', 'i % 3')}, 'gw-' || i from generate_series(0, ${gateways - 1}) as i`,
]

/** Of the numbers $2 to $3: a user for each three devices, in three groups beside that of everyone. */
const people = [
  `insert into users (tenant_id, user_id, username, display_name, email, status)
     select $1::uuid, ${uuidOf('user', 'i')}, n.first || '.' || n.last || i, initcap(n.first) || ' ' || initcap(n.last),
       n.first || '.' || n.last || i || '@example.com', case when ${share('suspended')} < 0.01 then 'suspended' else 'active' end
     from generate_series($2::int, $3::int, 3) as i
     cross join lateral (select ${pick(firstNames, 'i / 3')} as first, ${pick(lastNames, 'i / 39')} as last) as n`,
  `insert into group_members (tenant_id, group_id, user_id)
     select distinct $1::uuid, ${uuidOf('group', 'g.n')}, ${uuidOf('user', 'i')}
     from generate_series($2::int, $3::int, 3) as i
     cross join lateral (values (0), (1 + (${share('team')} * ${groups})::int % ${groups}),
       (1 + (${share('other team')} ^ 3 * ${groups})::int % ${groups})) as g (n)`,
]

const devices = [
  `insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, serial, arch, tags,
      group_ids, status, revoked_at, channel, jkt, wireguard_public_key, address_number, credential_expires_at,
      credential_renew_after, enrolled_method, enrolled_at)
    select $1::uuid, ${uuidOf('device', 'i')}, case when ${share('owned')} < 0.95 then ${uuidOf('user', '(i - 1) / 3 * 3 + 1')} end,
      ${pick(kinds, 'i')} || '-' || ${pick(cities, 'i / 10')} || '-' || lpad(i::text, 7, '0'),
      (array['windows', 'windows', 'macos', 'linux', 'ios', 'android'])[1 + (${share('platform')} * 6)::int % 6],
      (10 + (${share('system')} ^ 2 * 8)::int) || '.' || (${share('patch')} * 5)::int,
      '1.' || (40 - (${share('client')} ^ 4 * 39)::int) || '.0', upper(substr(md5('serial' || i), 1, 12)),
      case when ${share('arch')} < 0.4 then 'arm64' else 'x64' end,
      array_remove(array[case when ${share('managed')} < 0.6 then 'managed' end, case when ${share('byod')} < 0.3 then 'byod' end,
        case when ${share('vip')} < 0.001 then 'vip' end], null),
      case when ${share('direct')} < 0.05 then array[${uuidOf('group', `(1 + (${share('given')} * ${groups})::int % ${groups})`)}] else '{}' end,
      s.status, case when s.status = 'revoked' then now() - ${share('revoked')} * interval '30 days' end,
      case when ${share('canary')} < 0.02 then 'canary' when ${share('stable')} < 0.05 then 'stable' else 'auto' end,
      encode(sha256(('jkt' || i || $1)::bytea), 'base64'), encode(sha256(('key' || i || $1)::bytea), 'base64'), i,
      now() + (1 + 29 * ${share('expiry')}) * interval '1 day', now() + interval '1 day', 'token',
      now() - i * interval '30 seconds'
    from generate_series($2::int, $3::int) as i
    cross join lateral (select case when ${share('status')} < 0.94 then 'active' when ${share('status')} < 0.945 then 'pending'
      when ${share('status')} < 0.96 then 'suspended' else 'revoked' end as status) as s`,
  `insert into device_tags (tenant_id, tag, device_id) select tenant_id, unnest(tags), device_id from devices
     where tenant_id = $1::uuid and address_number between $2::int and $3::int`,
  `insert into device_groups (tenant_id, group_id, device_id) select tenant_id, unnest(group_ids), device_id from devices
     where tenant_id = $1::uuid and address_number between $2::int and $3::int`,
  `update device_activity set last_seen_at = now() - ${share('seen')} ^ 4 * interval '60 days'
     from generate_series($2::int, $3::int) as i
     where tenant_id = $1::uuid and device_id = ${uuidOf('device', 'i')} and ${share('never')} > 0.03`,
  `insert into device_postures (tenant_id, device_id, facts, facts_digest, verdict, reported_at)
     select $1::uuid, ${uuidOf('device', 'i')}, '{"disk.encrypted": true, "firewall.enabled": true}', '',
       case when ${share('posture')} < 0.85 then 'compliant' when ${share('posture')} < 0.95 then 'non_compliant' else 'unknown' end,
       now() - ${share('report')} * interval '1 day'
     from generate_series($2::int, $3::int) as i where ${share('unreported')} > 0.03`,
  `insert into vpn_sessions (tenant_id, session_id, device_id, user_id, gateway_id, pool_id, state, started_at,
      last_seen_at, protocol, auth_method, posture_verdict)
    select $1::uuid, ${uuidOf('session', 'i')}, d.device_id, d.user_id, ${uuidOf('gateway', `i % ${gateways}`)},
      ${uuidOf('pool', `i % ${gateways} % 3`)}, 'active', now() - ${share('start')} * interval '12 hours', now(), 'wireguard',
      'device_key', 'compliant'
    from generate_series($2::int, $3::int) as i
    join devices d on d.tenant_id = $1::uuid and d.device_id = ${uuidOf('device', 'i')} and d.status = 'active'
    where ${share('connected')} < 0.12`,
]
const filled = [
  'devices',
  'device_activity',
  'device_postures',
  'device_tags',
  'device_groups',
  'vpn_sessions',
  'users',
]

/** Batches under way at once, each on a connection of its own. */
const atOnce = 5

/**
 * Fills a tenant without devices with so many, as no API makes so many in so little time: with owners, groups, tags,
 * reports, last contacts and sessions in uneven shares. Triggers run as ever, so that words and keys of orders are
 * there.
 */
export async function fillLargeFleet(databaseUrl: string, tenant: string, size: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: atOnce }, () => connect(databaseUrl)))
  const [client] = clients as [pg.Client]
  for (const statement of ground) await client.query(statement, [tenant])
  let next = 1
  const work = async (own: pg.Client) => {
    while (next <= size) {
      const range = [tenant, next, Math.min(size, next + batch - 1)]
      next += batch
      for (const statement of [...people, ...devices]) await own.query(statement, range)
    }
  }
  await Promise.all(clients.map(work))
  await client.query('update tenant_epochs set addresses = addresses + $2, seq = seq + 1 where tenant_id = $1', [
    tenant,
    size,
  ])
  for (const table of [...filled, 'group_members', 'search_words']) await client.query(`vacuum analyze ${table}`)
  await Promise.all(clients.map((each) => each.end()))
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('set synchronous_commit = off')
  return client
}
