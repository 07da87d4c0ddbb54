import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWordIndexer } from '../../src/modules/audit/words/indexer.ts'
import { withClient } from '../support/database/test-database.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

test('the words of a block are read in parts, however long its records are', async (t) => {
  const kit = await startKit(t)
  await withClient(kit.databaseUrl, async (owner) => {
    const places = async () =>
      (await owner.query<{ seq: number }>('select seq::float8 from audit_heads where tenant_id = $1', [kit.tenant]))
        .rows[0]?.seq ?? 0
    const blocks = async () =>
      (await owner.query('select from audit_words where tenant_id = $1', [kit.tenant])).rowCount ?? 0
    const arrive = (count: number, length: number) =>
      owner.query(
        `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
         select $1, gen_random_uuid(), timestamp '2026-01-01' + i * interval '1 second', 'user.changed', 'success',
           '{"details":{"note":"word' || i || ' ' || repeat('x', $3) || '"}}'
         from generate_series(1, $2::int) as i`,
        [kit.tenant, count, length],
      )
    await kit.admin.listAuditEvents({})
    const count = 1024 - (await places())
    await arrive(count, 6000)
    await until(async () => (await places()) >= 1024)
    // Each replica looks for full blocks after a number of sequence numbers that it assigned.
    await until(async () => {
      await kit.admin.listAuditEvents({ query: { target_id: 'none' } })
      return (await blocks()) === 1
    })
    const read = async () => {
      const { rows } = await owner.query<{ found: boolean; first: Date }>(
        `select words @> audit_word_hashes($1, array['word1', 'word' || $2::int / 2, 'word' || $2::int - 5]) as found,
           first_at as first from audit_words where tenant_id = $1 and block = 0`,
        [kit.tenant, count],
      )
      return rows
    }
    const whole = [{ found: true, first: new Date('2026-01-01T00:00:01Z') }]
    assert.deepEqual(await read(), whole)
    await arrive(1024, 1)
    await until(async () => (await blocks()) === 2)
    await owner.query('delete from audit_words where tenant_id = $1 and block = 0', [kit.tenant])
    const next = createWordIndexer({ db: kit.db, onError: assert.ifError })
    next.placed(kit.tenant, 1)
    await until(async () => (await blocks()) === 2)
    await next.stop()
    assert.deepEqual(await read(), whole, 'whoever comes next looks whether all are there')
  })
})

test('a search asks the index of words, also while entries of it are not in their places yet', async (t) => {
  const kit = await startKit(t)
  await withClient(kit.databaseUrl, async (owner) => {
    await owner.query(
      `insert into audit_words select $1, block, now(), now(), audit_word_hashes($1, array_agg('w' || block || 'x' || i))
       from generate_series(0, 299) as block, generate_series(1, 300) as i group by block`,
      [kit.tenant],
    )
    assert.deepEqual((await kit.admin.listAuditEvents({ query: { text: 'haystack' } })).items, [])
    // A connection that ends flushes its statistics.
    await kit.stop()
    const asked = `select idx_scan as times from pg_stat_user_indexes where indexrelname = 'audit_words_by_word'`
    await until(async () => (await owner.query<{ times: number }>(asked)).rows[0]!.times > 0, 'the index is asked')
  })
})
