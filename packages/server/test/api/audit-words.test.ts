import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../src/embedded/test-database.ts'
import { createWordIndexer } from '../../src/modules/audit/words/indexer.ts'
import { withGateway } from '../gateways.ts'
import { type Kit, startKit } from '../kit.ts'
import { until } from '../promptly.ts'

const blocksOf = (kit: Kit) =>
  withClient(kit.databaseUrl, async (owner) => (await owner.query('select from audit_words')).rowCount ?? 0)

test('the words of what gateways report are the same, whether they were at hand or are read again', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { secret } = await withGateway(kit)
  const report = async (n: number, replica: number) => {
    const events = Array.from({ length: 500 }, (_, i) => ({
      event_id: `e${n}-${i}`,
      kind: 'gateway_report.started',
      at: new Date().toISOString(),
      details: { note: `number ${n * 500 + i}` },
    }))
    await kit.clientFor(secret, kit.replicas[replica]!).ingestAuditEvents({ body: { events } })
  }
  const read = `select block, first_at::text, last_at::text, (select array_agg(word order by word) from unnest(words) as word) as words
    from audit_words where tenant_id = '${kit.tenant}' and block < 3 order by block`
  for (let n = 0; n < 7; n++) {
    await report(n, 0)
    // Between these reports something else has its place: that block is at hand for nobody.
    if (n === 5) await kit.admin.generateToken({ body: { name: 'in between' } })
  }
  await until(async () => (await blocksOf(kit)) >= 3)
  await withClient(kit.databaseUrl, async (owner) => {
    const atHand = await owner.query(read)
    await owner.query('delete from audit_words where tenant_id = $1', [kit.tenant])
    await report(7, 1)
    await until(async () => (await blocksOf(kit)) >= 3)
    assert.deepEqual((await owner.query(read)).rows, atHand.rows)
    // Whoever comes next looks whether all are there.
    await owner.query('delete from audit_words where tenant_id = $1 and block = 1', [kit.tenant])
    const next = createWordIndexer({ db: kit.db, onError: assert.ifError })
    next.placed(kit.tenant, 1)
    await until(async () => (await blocksOf(kit)) >= 3)
    await next.stop()
    assert.deepEqual((await owner.query(read)).rows, atHand.rows)
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
    // What ends says at once what it has asked for.
    await kit.stop()
    const asked = `select idx_scan as times from pg_stat_user_indexes where indexrelname = 'audit_words_by_word'`
    await until(async () => (await owner.query<{ times: number }>(asked)).rows[0]!.times > 0, 'the index is asked')
  })
})
