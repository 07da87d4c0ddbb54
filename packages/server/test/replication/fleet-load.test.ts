import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { enrollRaw } from '../support/actors/all-callers.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

/** Three pages. */
const devices = 12_000

test('a start reads each device and each report once, however many pages they are', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: {} })
  await enrollRaw(kit, token, 'first')
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  await owner.query(
    `insert into devices (tenant_id, device_id, name, platform, status, address_number, credential_expires_at,
       credential_renew_after, enrolled_method, token_id, enrolled_at)
     select tenant_id, gen_random_uuid(), 'many-' || i, 'linux', 'active', 1000 + i, credential_expires_at,
       credential_renew_after, enrolled_method, token_id, enrolled_at
     from devices, generate_series(1, $1) as i where name = 'first'`,
    [devices - 1],
  )
  await owner.query(
    `insert into device_postures (tenant_id, device_id, facts, facts_digest, verdict, reported_at)
     select tenant_id, device_id, '{}', '', 'unknown', now() from devices`,
  )
  await owner.query('analyze devices, device_postures')
  // Forces the query plan of a fleet of a million devices.
  for (const other of ['hashjoin', 'seqscan', 'bitmapscan'])
    await owner.query(`alter database "${owner.database}" set enable_${other} = off`)
  const entriesRead = async () => {
    await owner.query('select pg_stat_clear_snapshot()')
    const { rows } = await owner.query<{ n: number }>(
      "select sum(idx_tup_read)::int as n from pg_stat_user_indexes where indexrelname in ('devices_pkey', 'device_postures_pkey')",
    )
    return rows[0]!.n
  }
  const backends = async () => {
    const { rows } = await owner.query<{ pid: number }>(
      'select pid from pg_stat_activity where datname = current_database()',
    )
    return new Set(rows.map((r) => r.pid))
  }
  await owner.query('select pg_stat_force_next_flush()')
  const [before, others] = [await entriesRead(), await backends()]
  const replica = await kit.startReplica()
  assert.equal((await replica.app.fleet.all(kit.tenant)).size, devices)
  // Reads of a connection are added to the statistics when it ends.
  await replica.dispatcher.destroy()
  await replica.app.stop()
  kit.replicas.pop()
  await until(async () => (await backends()).isSubsetOf(others), 'the end of its connections')
  const read = (await entriesRead()) - before
  await owner.end()
  assert.ok(read >= 2 * devices, `${read} entries read`)
  assert.ok(read < 2.5 * devices, `${read} entries read for ${devices} devices and as many reports`)
})
