import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Server } from './server.ts'

/** The n-th of something, as a type id is written: its prefix and 26 characters. */
const id = (prefix: string, n: string) => `'${prefix}_' || substr(md5('${prefix}' || (${n})), 1, 26)`

/** A rare kind is one event in a hundred thousand. The old kind is only at the far end of the log. */
const kind = `case when i % 100000 = 7 then 'user.mfa_disabled' when i <= 20 then 'tenant.changed'
  when i % 10 = 0 then 'login.succeeded' when i % 50 = 3 then 'login.failed' else 'api_key.used' end`
const actor = `case when i % 10 = 0 then ${id('usr', 'i % 5000')} else ${id('key', 'i % 40')} end`
const target = `case when i % 3 = 0 then ${id('dev', 'i % 100000')} end`
const outcome = `case when i % 50 = 3 then 'refused' else 'success' end`
const source = `'198.51.' || i / 7 % 100 || '.' || i % 250`
const agent = `'Mozilla/5.0 (X11; Linux x86_64; rv:' || i % 30 + 100 || '.0) Gecko/20100101 Firefox/128.0'`

/** An id, and its text of 26 characters: the last six encode its last thirty bits. */
const eventId = `('01890000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid`
const eventText = `'01h4000000e008000000' || ${[25, 20, 15, 10, 5, 0]
  .map((bits) => `substr('0123456789abcdefghjkmnpqrstvwxyz', ((i >> ${bits}) & 31) + 1, 1)`)
  .join(' || ')}`

/** As RFC 8785 writes it. */
const record = `'{"actor":{"id":"' || actor_id || '","name":"' || actor_name || '","type":"'
  || case when i % 10 = 0 then 'session' else 'api_key' end || '"},"details":{"note":"'
  || case when i % 200000 = 11 then 'needle' when i % 1000 = 5 then 'thimble' else 'hay ' || i % 3000 end
  || '"},"event_id":"evt_' || ${eventText} || '","kind":"' || kind || '","origin":"'
  || case when i % 1000000 = 9 then 'gateway' else 'api' end || '","outcome":"' || outcome || '","request_id":"req_' || i
  || '","source_ip":"' || source_ip || '","target":' || case when target_id is null then 'null' else
    '{"id":"' || target_id || '","name":"laptop ' || i % 100000 || '","type":"device"}' end
  || ',"tenant_id":"tnt_' || substr(md5('tnt'), 1, 26) || '","timestamp":"'
  || to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","user_agent":"' || agent || '"}'`

/**
 * Adds this number of events to the audit log, evenly over the last ninety days, with sequence numbers after the
 * existing ones. Indexes are created afterwards, and counts are not updated: the cost of an insert does not matter
 * here.
 */
export async function seedAuditLog(db: pg.Client, tenantId: string, count: number): Promise<void> {
  await db.query(`set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '64MB'`)
  for (let day = 0; day <= 90; day += 30) await db.query(`call ensure_partitions(now() - interval '${day} days')`)
  const { rows: indexes } = await db.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes where tablename = 'audit_log' and indexname <> 'audit_log_pkey'`,
  )
  for (const { name } of indexes) await db.query(`drop index ${name}`)
  await db.query('set session_replication_role = replica')
  await db.query(
    `insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, actor_name_key, target_id, target_name_key,
       source_ip, request_id, record, hash)
     select $1, h.seq + i, ${eventId}, at, kind, outcome, actor_id, actor_name, target_id,
       case when target_id is not null then 'laptop ' || i % 100000 end, source_ip, 'req_' || i, ${record}, sha256('')
     from (select i, date_trunc('milliseconds', now() - (${count} - i) * interval '${(90 * 86_400) / count} seconds') as at, ${kind} as kind,
         ${actor} as actor_id, 'name ' || case when i % 10 = 0 then i % 5000 else i % 40 end as actor_name,
         ${target} as target_id, ${outcome} as outcome, ${source} as source_ip, ${agent} as agent
       from generate_series(1, ${count}) as i) as e,
       (select coalesce((select seq from audit_heads where tenant_id = $1), 0) as seq) as h`,
    [tenantId],
  )
  await db.query(
    `insert into audit_heads (tenant_id, seq) values ($1, $2)
     on conflict (tenant_id) do update set seq = audit_heads.seq + excluded.seq`,
    [tenantId, count],
  )
  await db.query('set session_replication_role = default')
  // The definition that PostgreSQL returns leaves the partitions out.
  for (const { definition } of indexes) await db.query(definition.replace(' ON ONLY ', ' ON '))
  await db.query('vacuum analyze audit_log')
}

/** Waits until all events have their sequence numbers. */
export const allInPlace = (server: Server): Promise<void> => untilNone(server, 'select from audit_arrivals limit 1')

/** Waits until the words of every full block of the log are indexed. */
export const wordsRead = (server: Server): Promise<void> =>
  untilNone(
    server,
    `select from audit_heads h where seq >= 1024 * (
       select coalesce(max(block), -1) + 2 from audit_words w where w.tenant_id = h.tenant_id) limit 1`,
  )

const untilNone = (server: Server, left: string): Promise<void> =>
  server.withDatabase(async (db) => {
    while ((await db.query(left)).rowCount) await delay(20)
  })
