import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { newUuid } from '../../src/kernel/ids.ts'
import { until } from '../support/deployment/wait-until.ts'
import { startFeeds } from './feeds.ts'

const device = (subject = newUuid()) => ({ kind: 'device' as const, subject })

test('a feed tells what others commit, forgets what it cannot follow and proves nothing it did not see', async (t) => {
  const { owner, tenant, replicas } = await startFeeds(t)
  const [a, b] = replicas as [(typeof replicas)[0], (typeof replicas)[0]]
  const log = (after: number, count: number) =>
    owner.query(
      `begin; update tenant_epochs set seq = ${after + count};
       insert into changes (tenant_id, seq, kind, subject)
         select '${tenant}', ${after} + n, 'device', gen_random_uuid() from generate_series(1, ${count}) n; commit`,
    )
  const seqs = () => [a.feed.seqOf(tenant), b.feed.seqOf(tenant)]

  await t.test('each change once, whoever made it, and both stand at the same moment', async () => {
    const made = Array.from({ length: 40 }, () => device())
    await Promise.all(made.map((change, i) => (i % 2 === 0 ? a : b).record([change])))
    await until(() => seqs().every((s) => s === 40))
    for (const each of [a, b]) {
      const own = new Set(each.told.map((c) => c.subject))
      assert.deepEqual(
        made.filter((c) => !own.has(c.subject)),
        [],
      )
      assert.equal(each.forgotten.length, 0)
    }
    assert.deepEqual(a.feed.momentOf(tenant), b.feed.momentOf(tenant))
  })

  await t.test('a change of many subjects and a long log are read in pages', async () => {
    const before = b.told.length
    await a.record(Array.from({ length: 12_000 }, () => device()))
    await log(41, 9000)
    await until(() => seqs().every((s) => s === 9041))
    assert.equal(b.told.length - before, 21_000)
    assert.equal(b.forgotten.length, 0)
  })

  await t.test(
    'a log that was pruned before it was read: the tenant is forgotten, and followed from there',
    async () => {
      await owner.query('update tenant_epochs set seq = seq + 5 where tenant_id = $1', [tenant])
      await until(() => seqs().every((s) => s === 9046))
      assert.deepEqual([a.forgotten, b.forgotten], [[tenant], [tenant]])
      const next = device()
      await b.record([next])
      await until(() => a.told.some((c) => c.subject === next.subject))
    },
  )

  await t.test('a backlog over its bound is not read', async () => {
    const before = b.told.length
    await log(9047, 60_000)
    const took = await until(() => seqs().every((s) => s === 69_047))
    t.diagnostic(`60,000 changes passed over in ${Math.round(took)} ms`)
    assert.equal(b.told.length, before)
    assert.deepEqual(b.forgotten, [tenant, tenant])
  })

  await t.test('a database that was set back: forgotten, and no number is given twice', async () => {
    await owner.query('delete from changes where seq > 69000')
    await owner.query('update tenant_epochs set seq = 69000 where tenant_id = $1', [tenant])
    await until(() => seqs().every((s) => s > 69_047))
    for (const each of [a, b]) assert.ok(each.forgotten.length > 2)
    await until(() => a.feed.seqOf(tenant) === b.feed.seqOf(tenant))
    const { rows } = await owner.query<{ kind: string }>('select kind from changes where seq > 69047')
    assert.ok(rows.some((r) => r.kind === 'device') && rows.some((r) => r.kind === 'trust'), 'a change of everything')
  })

  await t.test('a tenant that is gone is forgotten', async () => {
    const forgotten = b.forgotten.length
    await owner.query('delete from changes')
    await owner.query('delete from tenant_epochs')
    await until(() => b.forgotten.length > forgotten)
    assert.equal(b.feed.seqOf(tenant), 0)
    await owner.query('insert into tenant_epochs (tenant_id, seq) values ($1, 80000)', [tenant])
    await until(() => seqs().every((s) => s === 80_000))
  })

  await t.test('without its scope a heartbeat is no proof, and failing leaks no connection', async () => {
    const scope = (value: string) =>
      owner.query(
        `create or replace function across_tenants() returns boolean language sql stable parallel safe as $$ select ${value} $$`,
      )
    await scope('false')
    await until(() => !b.feed.isFresh())
    await assert.rejects(b.feed.catchUp(), /unexpected server error/)
    await new Promise((resolve) => setTimeout(resolve, 600))
    // Connections that the feed has ended disappear soon; leaked ones would add up.
    const connections = async () => {
      const { rows } = await owner.query<{ open: number }>(
        "select count(*)::int as open from pg_stat_activity where datname = current_database() and application_name = 'holdfast feed'",
      )
      return rows[0]!.open
    }
    await until(async () => (await connections()) <= 2, 'no more connections than feeds')
    await scope(`coalesce(current_setting('holdfast.tenant', true), '') = '*'`)
    await until(() => b.feed.isFresh())
  })

  const cutAll = () =>
    owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'holdfast feed'",
    )
  await t.test('nobody who waits for a comparison is refused because the connection was cut under it', async () => {
    for (let i = 0; i < 3; i++) {
      let isOver = false
      const cut = cutAll()
        .then(() => delay(20))
        .then(() => {
          isOver = true
        })
      while (!isOver) await b.feed.catchUp()
      await cut
    }
  })

  await t.test('a feed that is cut listens again', async () => {
    await cutAll()
    const next = device()
    await a.record([next])
    await until(() => b.told.some((c) => c.subject === next.subject))
  })
})
