import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { migrate } from '../../src/db/migrate.ts'
import { migrateBefore } from '../support/database/older-schema.ts'
import { createTestDatabase, withClient } from '../support/database/test-database.ts'
import { until } from '../support/deployment/wait-until.ts'

const tenant = '00000000-0000-4000-8000-000000000001'
/** More than one batch. */
const rows = 1200
const uuid = (text: string) => `md5('${text}' || i)::uuid`

/** Rows as the version before the migrations writes them. */
const insert = (from: number, to: number) => [
  `insert into users (tenant_id, user_id, username, display_name, status, last_login_at)
     select '${tenant}', ${uuid('u')}, 'person-' || i, 'Person ' || i, 'active',
       case when i % 3 > 0 then now() - i * interval '1 hour' end
     from generate_series(${from}, ${to}) as i`,
  `insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, tags, group_ids, status,
       channel, address_number, credential_expires_at, credential_renew_after, enrolled_method)
     select '${tenant}', ${uuid('d')}, ${uuid('u')}, 'laptop-' || i, 'linux', '14.' || i % 4,
       (array['1.2.0', '1.10.0-rc.2', 'build 7', ''])[1 + i % 5], '{}', '{}', 'active', 'auto', i, now(), now(), 'token'
     from generate_series(${from}, ${to}) as i`,
  `insert into device_activity (tenant_id, device_id, last_seen_at)
     select '${tenant}', ${uuid('d')}, case when i % 4 > 0 then now() - i * interval '1 minute' end
     from generate_series(${from}, ${to}) as i where i % 2 = 0
     on conflict (tenant_id, device_id) do update set last_seen_at = excluded.last_seen_at`,
  `insert into api_keys (tenant_id, key_id, lookup, secret_digest, hint, name, role)
     select '${tenant}', ${uuid('k')}, 'l' || i, '', 'h' || i, 'key ' || i, 'owner'
     from generate_series(${from}, ${to}) as i where i % 10 = 0`,
  `insert into api_key_activity (tenant_id, key_id, last_used_at)
     select '${tenant}', ${uuid('k')}, now() - i * interval '1 minute'
     from generate_series(${from}, ${to}) as i where i % 20 = 0
     on conflict (tenant_id, key_id) do update set last_used_at = excluded.last_used_at`,
]

/** Each query counts the rows whose derived values do not match. */
const wrong = {
  versions: `select count(*)::int as n from devices where client_version_key <> version_key(client_version)`,
  seen: `select count(*)::int as n from devices left join device_activity a using (tenant_id, device_id)
    where a.seen_key is distinct from coalesce(date_bin('5 minutes', last_seen_at, to_timestamp(0)), '-infinity')`,
  logins: `select count(*)::int as n from users where last_login_key <> coalesce(last_login_at, '-infinity')`,
  used: `select count(*)::int as n from api_keys left join api_key_activity a using (tenant_id, key_id)
    where a.last_used_key is distinct from coalesce(last_used_at, '-infinity')`,
  words: `with due as (
      select 'device' as kind, device_id as id, place, word from devices, search_entries(array[name, serial])
      union all select 'user', user_id, place, word from users, search_entries(array[username, display_name, email])
      union all select 'enrollment_token', token_id, place, word from enrollment_tokens, search_entries(array[name, hint])
      union all select 'api_key', key_id, place, word from api_keys, search_entries(array[name, hint]))
    select count(*)::int as n from due full join search_words w
      on (w.kind, w.subject_id, w.place, w.word) = (due.kind, id, due.place, due.word)
    where id is null or w.subject_id is null`,
  indexes: `select count(*)::int as n from pg_index where not indisvalid`,
}

test('the version before keeps reading and writing while the keys of lists are added, and its rows get theirs', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  await withClient(database.url, async (client) => {
    await migrateBefore(client, 'search')
    await client.query(`insert into tenants (tenant_id, name, canary_salt) values ('${tenant}', 'acme', '')`)
    for (const statement of insert(1, rows)) await client.query(statement)
  })
  // The application's limits: a statement that waits longer for a lock fails the test, as does a deadlock.
  const connect = async () => {
    const client = new pg.Client({
      connectionString: database.url,
      options: '-c lock_timeout=1500',
      application_name: 'before',
    })
    await client.connect()
    return client
  }
  const clients = await Promise.all([connect(), connect(), connect()])
  const [holder, reader, writer] = clients as [pg.Client, pg.Client, pg.Client]
  const migrationWaits = () =>
    withClient(database.url, async (client) => {
      const { rowCount } = await client.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and application_name <> 'before'`,
      )
      return rowCount === 1
    })
  const read = () =>
    reader.query(`select count(*) from devices left join device_activity using (tenant_id, device_id)
      left join users using (tenant_id, user_id), lateral (select count(*) from api_key_activity) as keys`)
  const user = (i: number) => `update users set last_login_at = now() from (select ${i} as i) as n
    where user_id = ${uuid('u')}`
  const device = (i: number) => `update devices set name = 'renamed-' || i, client_version = '3.0.' || i
    from (select ${i} as i) as n where device_id = ${uuid('d')}`

  let done = false
  const migrated = migrate(database.url).finally(() => {
    done = true
  })
  const orders = [
    [user(1), device(1)],
    [device(2), user(2)],
    ['select count(*) from devices', user(3)],
    [user(4), 'select count(*) from devices'],
  ] as const
  const hold = async () => {
    // Each order meets the migration at another place, while it waits for the lock of the first statement.
    for (const [first, second] of orders) {
      await holder.query('begin')
      await holder.query(first)
      await until(async () => done || (await migrationWaits()), 'the migration waits for the lock of a transaction')
      await read()
      await holder.query(second)
      await holder.query('commit')
    }
  }
  /** Rows that no transaction holds. */
  const someOther = (i: number) => 10 + (i % (rows - 10))
  const write = async () => {
    for (let i = rows + 1; !done || i < rows + 3; i++) {
      for (const statement of insert(i, i)) await writer.query(statement)
      await writer.query(device(someOther(i * 7)))
      await writer.query(`insert into device_activity (tenant_id, device_id, last_seen_at)
        select '${tenant}', ${uuid('d')}, now() from (select ${someOther(i * 11)} as i) as n
        on conflict (tenant_id, device_id) do update set last_seen_at = excluded.last_seen_at`)
      await read()
      await delay(10)
    }
  }
  await Promise.all([migrated, hold(), write()])

  const found: Record<string, number> = {}
  for (const [name, statement] of Object.entries(wrong)) found[name] = (await reader.query(statement)).rows[0].n
  assert.deepEqual(found, { versions: 0, seen: 0, logins: 0, used: 0, words: 0, indexes: 0 })
  for (const client of clients) await client.end()
})
