import assert from 'node:assert/strict'
import pg from 'pg'
import { decodeId } from '../../../src/kernel/ids.ts'
import { everything } from '../../../src/replication/changes.ts'
import { withGateway } from '../actors/gateways.ts'
import type { Kit } from '../deployment/deployment.ts'

const versions = ['1.2.0', '1.10.0', '1.10.0-rc.2', '1.10.0-rc.11', '2.0.0', 'build 7']
/** Number of devices. */
export const size = 240
const uuid = (what: string) => `md5('${what}' || i)::uuid`

/**
 * Inserts devices and users with every value, including ties and nulls. The API would take too long for this number.
 */
export async function fillFleet(kit: Kit) {
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'Staff' } } })
  const made = [await withGateway(kit, 'g1'), await withGateway(kit, 'g2')]
  const { enrollment_token } = await kit.admin.generateToken({
    body: { name: 'laptops', group_ids: [group.group_id] },
  })
  const [g1, g2] = made.map((m) => decodeId('gateway', m.gateway.gateway_id)!)
  const [p1, p2] = made.map((m) => decodeId('gateway_pool', m.pool.pool_id)!)
  const [staff, token] = [decodeId('group', group.group_id)!, decodeId('enrollment_token', enrollment_token.token_id)!]
  const t = `'${kit.tenant}'::uuid`
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  for (const statement of [
    `insert into users (tenant_id, user_id, username, status, locked_until, last_login_at, created_at)
      select ${t}, ${uuid('u')}, 'person' || i, case when i % 7 = 0 then 'suspended' else 'active' end,
        case when i % 5 = 0 then now() + interval '1 hour' when i % 5 = 1 then now() - interval '1 hour' end,
        case when i % 3 > 0 then now() - (i / 4) * interval '1 day' end, now() - (i % 9) * interval '1 day'
      from generate_series(1, 60) as i`,
    `insert into group_members (tenant_id, group_id, user_id) select ${t}, '${staff}', ${uuid('u')}
      from generate_series(1, 20) as i`,
    `insert into user_totp (tenant_id, user_id, seed_jwe, expires_at, enrolled_at)
      select ${t}, ${uuid('u')}, '', now(), now() from generate_series(1, 15) as i`,
    `insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, arch, tags, group_ids,
        status, revoked_at, channel, address_number, credential_expires_at, credential_renew_after, enrolled_method,
        token_id, enrolled_at)
      select ${t}, ${uuid('d')}, case when i % 4 > 0 then md5('u' || (i % 50 + 1))::uuid end, 'laptop-' || i % 80,
        (array['linux', 'macos', 'windows'])[1 + i % 3], case when i % 6 > 0 then '14.' || i % 4 end,
        ($1::text[])[1 + i % 7], case when i % 2 = 0 then 'arm64' else 'x64' end,
        case when i % 5 = 0 then array['rare', 'common'] when i % 2 = 0 then array['common'] else '{}' end,
        case when i % 9 = 0 then array['${staff}'::uuid] else '{}' end,
        case when i % 11 = 0 then 'pending' when i % 13 = 0 then 'suspended' when i % 17 = 0 then 'revoked' else 'active' end,
        case when i % 11 > 0 and i % 13 > 0 and i % 17 = 0 then now() end,
        case when i % 19 = 0 then 'canary' when i % 23 = 0 then 'stable' else 'auto' end, 5000 + i,
        now() + (i % 10 - 1) * interval '1 day', now(), 'token', '${token}', now() - (i % 30) * interval '1 hour'
      from generate_series(1, ${size}) as i`,
    `insert into device_tags select tenant_id, unnest(tags), device_id from devices where tenant_id = ${t}`,
    `insert into device_groups select tenant_id, unnest(group_ids), device_id from devices where tenant_id = ${t}`,
    `update device_activity set last_seen_at = now() - (i % 12) * (i % 12) * interval '20 minutes'
      from generate_series(1, ${size}) as i where tenant_id = ${t} and device_id = ${uuid('d')} and i % 8 > 0`,
    `insert into device_postures (tenant_id, device_id, facts, facts_digest, verdict, reported_at)
      select ${t}, ${uuid('d')}, '{}', '', (array['compliant', 'non_compliant', 'unknown'])[1 + i % 3], now()
      from generate_series(1, ${size}) as i where i % 10 > 0`,
    `insert into vpn_sessions (tenant_id, session_id, device_id, gateway_id, pool_id, state, started_at, last_seen_at,
        protocol, auth_method, posture_verdict)
      select ${t}, md5('s' || i || g.n)::uuid, ${uuid('d')}, g.gateway_id, g.pool_id, 'active',
        now() - (i % 5 + g.n) * interval '1 minute', now(), 'wireguard', 'device_key', 'unknown'
      from generate_series(1, ${size}) as i,
        (values ('${g1}'::uuid, '${p1}'::uuid, 1), ('${g2}'::uuid, '${p2}'::uuid, 2)) as g (gateway_id, pool_id, n)
      where i % 16 = 0 and g.n = 1 or i % 6 = 0 and g.n = 2`,
  ])
    await client.query(statement, statement.includes('$1') ? [versions] : [])
  await client.end()
  // The replica may have read devices before there were these.
  await kit.db.inTenant(kit.tenant, (tx) =>
    kit.app.changes.record(tx, kit.tenant, [{ kind: 'device', subject: everything }]),
  )
  return { group, gateway: made[1]!.gateway, pool: made[1]!.pool, token: enrollment_token }
}

/** All pages of a list. Asserts that no item appears twice. */
export async function all<T>(
  ask: (page: { limit: number; cursor?: string }) => Promise<{ items: readonly T[]; next_cursor: string | null }>,
  idOf: (item: T) => string,
  limit = 41,
): Promise<T[]> {
  const items: T[] = []
  let cursor: string | null = null
  do {
    const page: { items: readonly T[]; next_cursor: string | null } = await ask({
      limit,
      ...(cursor !== null && { cursor }),
    })
    items.push(...page.items)
    cursor = page.next_cursor
  } while (cursor !== null)
  assert.equal(new Set(items.map(idOf)).size, items.length, 'one came twice')
  return items
}
