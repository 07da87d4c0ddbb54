import pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { encodeId } from '../../src/kernel/ids.ts'
import type { Kit } from '../support/deployment/deployment.ts'
import { federationRows } from './lists-federation.fixture.ts'
import { updateRows } from './lists-updates.fixture.ts'
import { workflowRows } from './lists-workflows.fixture.ts'

const named = [
  ...(['user', 'token', 'rareToken', 'provider', 'rareProvider', 'group', 'rareGroup'] as const),
  ...(['pool', 'gateway', 'rareGateway', 'device', 'directory', 'rareDirectory', 'release'] as const),
] as const

const eventRecord = JSON.stringify({
  event_id: encodeId('audit_event', uuidv7()),
  tenant_id: encodeId('tenant', uuidv7()),
  kind: 'api_key.used',
  timestamp: new Date().toISOString(),
  outcome: 'success',
  actor: { type: 'api_key', id: null, name: null },
  target: null,
  source_ip: null,
  user_agent: null,
  request_id: null,
  origin: 'api',
})

/**
 * Fills every list. Each filter has one value with many matches, and one with few matches at the far end of the list.
 */
export async function fillLists(kit: Kit, rows: number) {
  const few = Math.ceil(rows / 20)
  const id = Object.fromEntries(named.map((name) => [name, uuidv7()])) as Record<(typeof named)[number], string>
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  const t = `'${kit.tenant}'::uuid`
  const at = `now() - (${rows} - i) * interval '10 seconds'`
  const nth = (what: string) => `md5('${what}' || i)::uuid`
  const each = (n: number) => `from generate_series(1, ${n}) as i`
  await client.query(`set session_replication_role = replica; set synchronous_commit = off`)
  await client.query(`call ensure_partitions(now() - interval '${Math.ceil(rows / 8640)} days')`)
  for (const statement of [
    `insert into users (tenant_id, user_id, username, email, display_name, status, source, directory_id, external_id,
        created_at)
      select ${t}, case when i = 1 then '${id.user}' else ${nth('user')} end, case when i < 9 then 'zoe' else 'person' end || i,
        'mail' || i || '@example.test', 'Person ' || i, case when i % 5000 = 7 then 'suspended' else 'active' end,
        case when i < 20 then 'sso' when i % 2 = 0 then 'directory' else 'local' end,
        case when i >= 20 and i % 2 = 0 then '${id.directory}'::uuid end,
        case when i >= 20 and i % 2 = 0 then 'external' || i end, ${at} ${each(rows)}`,
    `insert into user_roles (tenant_id, user_id, role, granted_at)
      select ${t}, ${nth('user')}, case when i < 30 then 'auditor' else 'viewer' end, ${at}
      from generate_series(2, ${few}) as i`,
    `insert into user_totp (tenant_id, user_id, seed_jwe, expires_at, enrolled_at)
      select ${t}, ${nth('user')}, '', now(), now() ${each(few)}`,
    `insert into groups (tenant_id, group_id, name, directory_id, external_id, created_at)
      select ${t}, case i when 1 then '${id.group}' when 2 then '${id.rareGroup}' else ${nth('group')} end,
        case when i < 9 then 'zoo' else 'group' end || i, case when i % 2 = 0 then '${id.directory}'::uuid end,
        case when i % 2 = 0 then 'external' || i end, ${at} ${each(few)}`,
    `insert into group_members (tenant_id, group_id, user_id)
      select ${t}, case when i < 12 then '${id.rareGroup}'::uuid else '${id.group}'::uuid end, ${nth('user')}
      from generate_series(2, ${rows}) as i where i < 12 or i % 2 = 0`,
    `update groups g set member_count = (select count(*) from group_members m where m.group_id = g.group_id)
      where group_id in ('${id.group}', '${id.rareGroup}')`,
    `insert into enrollment_tokens (tenant_id, token_id, lookup, secret_digest, hint, name, kind, max_uses, uses, expires_at,
        created_at, revoked_at)
      select ${t}, case i when 1 then '${id.token}' when 2 then '${id.rareToken}' else ${nth('token')} end, 'l' || i, '', '',
        case when i < 9 then 'zone' else 'token' end || i, 'enroll', 5, case when i < 15 then 5 else 0 end,
        case when i between 15 and 40 then now() - interval '1 day' else now() + interval '1 day' end,
        ${at}, case when i between 41 and 60 then now() end ${each(few)}`,
    `insert into api_keys (tenant_id, key_id, lookup, secret_digest, hint, name, role, created_at, expires_at, revoked_at)
      select ${t}, ${nth('key')}, 'l' || i, '', '', 'key' || i, 'viewer', ${at},
        case when i between 15 and 40 then now() - interval '1 day' end, case when i between 41 and 60 then now() end
      ${each(few)}`,
    `insert into devices (tenant_id, device_id, user_id, name, platform, tags, group_ids, status, revoked_at, address_number,
        credential_expires_at, credential_renew_after, enrolled_method, token_id, provider_id, enrolled_at)
      select ${t}, case when i = 1 then '${id.device}' else ${nth('device')} end,
        case when i < 5 then '${id.user}' else ${nth('user')} end, case when i < 9 then 'zeta-' else 'laptop-' end || i,
        case when i < 9 then 'ios' else 'linux' end, case when i < 9 then array['rare'] when i % 2 = 0 then array['common']
        else '{}' end, case when i = 9 then array['${id.rareGroup}'::uuid] else '{}' end,
        case when i between 20 and 30 then 'pending' when i between 31 and 40 then 'suspended'
          when i between 41 and 50 then 'revoked' else 'active' end, case when i between 41 and 50 then now() end,
        1000000 + i, now(), now(), case when i % 3 = 0 then 'oidc' else 'token' end,
        case when i % 3 = 0 then null when i < 9 then '${id.rareToken}'::uuid else '${id.token}'::uuid end,
        case when i % 3 > 0 then null when i < 9 then '${id.rareProvider}'::uuid else '${id.provider}'::uuid end, ${at}
      ${each(rows)}`,
    `insert into device_postures (tenant_id, device_id, facts, facts_digest, verdict, reported_at)
      select ${t}, ${nth('device')}, '{}', '', case when i < 9 then 'non_compliant' else 'compliant' end, ${at}
      from generate_series(2, ${rows}) as i where i % 100 > 0`,
    `insert into device_tags select tenant_id, unnest(tags), device_id from devices`,
    `insert into device_groups select tenant_id, unnest(group_ids), device_id from devices`,
    `insert into gateway_pools (tenant_id, pool_id, name, region, protocol, selection, created_at)
      select ${t}, case when i = 1 then '${id.pool}' else ${nth('pool')} end, 'pool' || i, '{"code":"x"}', 'wireguard',
        'latency', ${at} ${each(few)}`,
    `insert into gateways (tenant_id, gateway_id, pool_id, name, created_at)
      select ${t}, case i when 1 then '${id.gateway}' when 2 then '${id.rareGateway}' else ${nth('gateway')} end,
        '${id.pool}', 'gateway' || i, ${at} ${each(Math.ceil(rows / 200))}`,
    `insert into gateway_activity (tenant_id, gateway_id, last_seen_at, boot_id, version)
      select tenant_id, gateway_id, now() - case when name < 'gateway11' then interval '1 hour' else interval '1 second' end,
        'b', case when name < 'gateway11' then '1.9.0' else '1.0.0' end from gateways where tenant_id = ${t}
      on conflict do nothing`,
    `insert into vpn_sessions (tenant_id, session_id, device_id, user_id, gateway_id, pool_id, state, started_at,
        last_seen_at, ended_at, end_reason, protocol, auth_method, posture_verdict)
      select ${t}, ${nth('session')}, case when i < 9 then '${id.device}' else ${nth('device')} end,
        case when i < 9 then '${id.user}' else ${nth('user')} end,
        case when i < 9 then '${id.rareGateway}'::uuid else '${id.gateway}'::uuid end, '${id.pool}',
        case when i % 20 = 0 then 'active' else 'ended' end, ${at}, now(), case when i % 20 > 0 then now() end,
        case when i % 20 > 0 then 'client' end, 'wireguard', 'device_key', 'unknown' ${each(rows)}`,
    `insert into connections_in_question (tenant_id, question_id, device_id, gateway_id, judge_at, verdict, since)
      select ${t}, ${nth('question')}, case when i < 2 then '${id.device}' else ${nth('device')} end,
        case when i < 9 then '${id.rareGateway}'::uuid else '${id.gateway}'::uuid end, now(),
        case when i % 100 = 5 then 'unauthorized' when i % 2 = 0 then 'conflict' else 'stale' end, ${at} ${each(few)}`,
    `insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at, last_seen_at,
        idle_seconds, expires_at)
      select ${t}, ${nth('admin')}, case when i < 9 then '${id.user}' else ${nth('user')} end,
        decode(md5('a' || i), 'hex'), 'password', ${at}, now(), 3600, now() + interval '1 day' ${each(few)}`,
    `insert into notifications (tenant_id, notification_id, kind, severity, title, detail, subject_type, created_at,
        acknowledged_at, acknowledged_by_type)
      select ${t}, ${nth('notification')}, case when i < 9 then 'user_locked' else 'gateway_down' end,
        case when i < 9 then 'info' else 'critical' end, '', '', 'gateway', ${at}, case when i between 20 and 30 then now() end,
        case when i between 20 and 30 then 'user' end ${each(few)}`,
    `insert into policy_bundles (tenant_id, bundle_id, version, seq, channel, digest, document, resolution, tests, impact,
        published_at)
      select ${t}, ${nth('bundle')}, i + 10, i + 10, case when i < 9 then 'canary' else 'stable' end, 'sha256:' || i,
        '{}', '{}', real.tests, real.impact, ${at}
      from generate_series(1, ${few}) as i, (select tests, impact from policy_bundles limit 1) as real`,
    `insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, actor_name_key, target_id, target_name_key,
        source_ip, request_id, record, hash)
      select ${t}, 1000000 + i, ${nth('event')}, ${at}, case when i < 9 then 'login.failed' when i < ${few} then 'account.locked' else 'api_key.used' end,
        case when i < 20 then 'refused' else 'success' end,
        case when i < 9 then 'key_rare' else 'key_' || i % 10 end, 'key ' || i % 10,
        'dev_' || case when i < 9 then 'rare' else '' || i % 1000 end, 'laptop ' || i % 1000,
        case when i < 9 then '192.0.2.7' else '192.0.2.' || i % 5 + 10 end, 'req_' || i, '${eventRecord}', sha256('') ${each(rows)}`,
    `insert into audit_heads (tenant_id, seq) values (${t}, 1000000 + ${rows})
      on conflict (tenant_id) do update set seq = excluded.seq`,
    ...federationRows({ id, tenant: t, rows, few, at, nth, each }),
    ...updateRows({ id, tenant: t, few, at, nth, each }),
    ...workflowRows({ tenant: t, few, at, nth, each }),
    'vacuum analyze',
  ])
    await client.query(statement)
  await client.end()
  return {
    user_id: [encodeId('user', id.user)],
    group_id: [encodeId('group', id.group), encodeId('group', id.rareGroup)],
    token_id: [encodeId('enrollment_token', id.token), encodeId('enrollment_token', id.rareToken)],
    provider_id: [encodeId('identity_provider', id.provider), encodeId('identity_provider', id.rareProvider)],
    device_id: [encodeId('device', id.device)],
    gateway_id: [encodeId('gateway', id.gateway), encodeId('gateway', id.rareGateway)],
    pool_id: [encodeId('gateway_pool', id.pool)],
    release_id: [encodeId('release', id.release)],
  }
}
