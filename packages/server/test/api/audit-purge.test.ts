import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { changeRetention } from '@holdfast/sdk'
import { hashAt } from '../../src/modules/audit/export/export.queries.ts'
import { addEvents, ageAuditLog } from '../support/database/aged-rows.ts'
import { connectOwner, countRows, type OwnerConnection, queryValue } from '../support/database/owner-connection.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { endWaitingPeriods, placeHold, purgesOf, releaseHold, runRetention } from '../support/domain/retention.ts'

const recordOf = async ({ admin }: Kit) =>
  (await admin.listAuditEvents({ query: { limit: 200 } })).items.toSorted((a, b) => a.seq - b.seq)
type Event = Awaited<ReturnType<typeof recordOf>>[number]

/** Asserts the hashes as `docs/audit-verify.md` defines them, from the first event of the log. */
function requireChain(events: readonly Event[], after: { seq: number; hash: string }): void {
  let before = after
  for (const { seq, hash, ...event } of events) {
    const place = Buffer.alloc(8)
    place.writeBigUInt64BE(BigInt(seq))
    const text = Buffer.concat([
      Buffer.of(0),
      Buffer.from(before.hash, 'hex'),
      place,
      Buffer.from(canonicalJson(event)),
    ])
    assert.equal(seq, before.seq + 1)
    assert.equal(hash, createHash('sha256').update(text).digest('hex'), `place ${seq}`)
    before = { seq, hash }
  }
}
const firstPlace = (owner: OwnerConnection, tenant: string) =>
  queryValue<number>(owner, 'select min(seq)::int as value from audit_log where tenant_id = $1', [tenant])
const keepAYear = async (kit: Kit, owner: OwnerConnection) => {
  await changeRetention(kit.admin, { audit: 365 })
  await endWaitingPeriods(owner)
}

test('the log is purged from its beginning only, once on two replicas, and the rest still verifies', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connectOwner(kit)
  await times(30, (i) => kit.admin.createGatewayPool({ body: { name: `pool-${i}`, region: { code: 'eu' } } }))
  const all = await recordOf(kit)
  // Event 12 is young. Events 1 and 5 got their sequence numbers while the clock was wrong.
  await ageAuditLog(owner, 'seq <= 20 and seq not in (5, 12)')
  await ageAuditLog(owner, 'seq in (1, 5)', '-50 years')
  await runRetention(kit)
  assert.equal((await recordOf(kit))[0]?.seq, 1, 'where nothing is set, the record is kept for good')
  await keepAYear(kit, owner)
  const { legal_hold_id } = await placeHold(kit.admin, { classes: ['audit'] })
  await runRetention(kit)
  assert.equal((await recordOf(kit))[0]?.seq, 1, 'a hold')
  await releaseHold(kit.admin, legal_hold_id)
  await endWaitingPeriods(owner)

  await times(20, (i) => runRetention(kit, i % 2))
  const { record_begins_after: beginning } = await kit.admin.getRetention()
  assert.deepEqual(beginning, { seq: 11, hash: all[10]?.hash }, 'one that is younger ends the purge')
  requireChain(await recordOf(kit), beginning!)
  const purges = await purgesOf(kit.admin, 'audit')
  assert.deepEqual(
    purges.map((p) => [p.count, p.from_seq, p.up_to_seq]),
    [[11, 1, 11]],
  )

  await ageAuditLog(owner, 'seq <= 20')
  await runRetention(kit, 1)
  assert.equal((await recordOf(kit))[0]?.seq, 21)
  assert.deepEqual(
    (await purgesOf(kit.admin, 'audit')).map((p) => [p.from_seq, p.up_to_seq]),
    [
      [12, 20],
      [1, 11],
    ],
  )
})

test('events with future times are judged by the first event after them', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await addEvents(owner, kit.tenant, 1300)
  await keepAYear(kit, owner)
  await ageAuditLog(owner, 'seq <= 1100', '-50 years')
  await runRetention(kit)
  assert.equal(await firstPlace(owner, kit.tenant), 1, 'behind them is one that is young')
  await ageAuditLog(owner, 'seq between 1101 and 1200')
  await runRetention(kit)
  assert.equal(await firstPlace(owner, kit.tenant), 1201)
})

test('the caller of the purge function cannot choose period or time', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await addEvents(owner, kit.tenant, 100)
  await ageAuditLog(owner, 'seq <= 50')
  await ageAuditLog(owner, 'seq between 51 and 60', '20 days')
  await runRetention(kit)
  const asApplication = async (...texts: string[]) => {
    await owner.query('begin')
    try {
      await owner.query(`set local role holdfast_app`)
      await owner.query(`select set_config('holdfast.tenant', $1, true)`, [kit.tenant])
      let value: unknown
      for (const text of texts) value = (await owner.query(text)).rows[0]?.value
      return value
    } finally {
      await owner.query('rollback')
    }
  }
  const purge = `select purge_audit(1000) as value`
  const shorten = `insert into retention_settings (tenant_id, days, updated_at) values (current_tenant(), '{"audit": 0}', now())`
  assert.equal(await asApplication(purge), 0, 'kept for good')
  assert.equal(await asApplication(shorten, purge), 0, 'a shorter period waits, for any writer')
  for (const text of [
    `update retention_periods set days = 1`,
    `update retention_settings set settles_at = 'epoch'`,
    `update retention_clock set trusted_from = '-infinity'`,
    `insert into audit_beginnings select tenant_id, seq, hash from audit_log`,
    'delete from audit_log where seq = 1',
    `update legal_holds set classes = '{policy}'`,
  ])
    await assert.rejects(asApplication(text), /permission denied/, text)
  for (const text of ['delete from audit_log where seq = 1', 'update audit_log set record = record where seq = 1'])
    await assert.rejects(owner.query(text), /append-only/, text)

  await asOwner(owner, kit, shorten)
  await endWaitingPeriods(owner)
  assert.equal(await asApplication(purge), 50, 'a month of the record stays, whatever is set')
  assert.equal(await asApplication(`update retention_settings set days = '{}'`, purge), 0)
  await placeHold(kit.admin, { classes: ['audit'] })
  await owner.query(`update legal_holds set reason = 'proceedings 12-35'`)
  assert.equal(await countRows(owner, 'legal_holds', 'released_at is null'), 1, 'another change releases nothing')
  const release = `update legal_holds set released_at = '2000-01-01'`
  assert.equal(await asApplication(release, purge), 0, 'a hold stands for another day, whoever releases it')
  await assert.rejects(asApplication('delete from legal_holds'), /a legal hold stands/)
  await owner.query(`update retention_clock set seen_at = seen_at - interval '4 days'`)
  assert.equal(await asApplication(purge), 0, 'the clock was not checked')
})
const asOwner = async (owner: OwnerConnection, kit: Kit, text: string) => {
  await owner.query(`select set_config('holdfast.tenant', $1, false)`, [kit.tenant])
  await owner.query(text)
}

test('an export overtaken by a purge still knows the hash before its first event', async (t) => {
  const kit = await startKit(t)
  const owner = await connectOwner(kit)
  await addEvents(owner, kit.tenant, 600)
  // Sequence numbers in full tiles, in an unfilled tile, and at the later beginning of the log.
  const places = [100, 256, 257, 400, 550, 590]
  const hashes = () =>
    kit.db.inTenant(kit.tenant, async (tx) => {
      const found: (string | null)[] = []
      for (const place of places) found.push(await hashAt(tx, kit.tenant, place))
      return found
    })
  const before = await hashes()
  await runJob(kit.app, 'checkpoint_audit')
  await keepAYear(kit, owner)
  await ageAuditLog(owner, 'seq <= 590')
  await runRetention(kit)
  assert.equal(await firstPlace(owner, kit.tenant), 591)
  assert.deepEqual(await hashes(), before)
  assert.equal(before.includes(null), false)
})

test('an interrupted purge continues in the next run and is recorded once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connectOwner(kit)
  const blocker = await connectOwner(kit)
  await addEvents(owner, kit.tenant, 3500)
  await ageAuditLog(owner, 'seq <= 3000')
  await keepAYear(kit, owner)
  const begun = runRetention(kit).then(
    () => 'done',
    () => 'failed',
  )
  await until(async () => (await countRows(owner, 'audit_beginnings')) > 0)
  // The next batch waits for this lock, and its connection is terminated on each attempt.
  await blocker.query('begin; select stop_purges()')
  let outcome: string | undefined
  void begun.then((o) => (outcome = o))
  await until(async () => {
    await owner.query(`select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and objid = 7264490 and not granted
        and database = (select oid from pg_database where datname = current_database())`)
    return outcome !== undefined
  })
  await blocker.query('rollback')
  const gone = (await firstPlace(owner, kit.tenant)) - 1
  assert.deepEqual([outcome, gone >= 1000 && gone < 3000, gone % 1000], ['failed', true, 0])
  await runRetention(kit, 1)
  assert.equal(await firstPlace(owner, kit.tenant), 3001)
  await owner.query(
    `insert into audit_words (tenant_id, block, first_at, last_at, words)
     select $1, block, now(), now(), '{}' from generate_series(0, 2) as block on conflict do nothing`,
    [kit.tenant],
  )
  await runRetention(kit, 1)
  const blocks = 'select array_agg(block::int order by block) as value from audit_words where block < 3'
  assert.deepEqual(await queryValue(owner, blocks), [2], 'words of blocks that are gone')
  assert.deepEqual(
    (await purgesOf(kit.admin, 'audit')).map((p) => [p.count, p.from_seq, p.up_to_seq]),
    [[3000, 1, 3000]],
  )
})

test('a confirmed hold keeps all events that exist then, even during purges', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const owner = await connectOwner(kit)
  const purging = await connectOwner(kit)
  await addEvents(owner, kit.tenant, 6000)
  await ageAuditLog(owner, 'true')
  await keepAYear(kit, owner)

  const running = Promise.all(kit.replicas.map((_, i) => runRetention(kit, i)))
  // A purge that has already decided but has not committed yet.
  await purging.query(`begin; select set_config('holdfast.tenant', '${kit.tenant}', true)`)
  await until(async () => (await queryValue<number>(purging, 'select purge_audit(10) as value')) > 0)
  let isPlaced = false
  const placing = placeHold(kit.admin).then(() => {
    isPlaced = true
  })
  const waiting = `select count(*)::int as value from pg_locks where locktype = 'advisory' and objid = 7264490 and not granted
    and mode = 'ExclusiveLock' and database = (select oid from pg_database where datname = current_database())`
  await until(async () => isPlaced || (await queryValue<number>(owner, waiting)) > 0)
  assert.equal(isPlaced, false)
  await purging.query('commit')
  await placing
  const left = await firstPlace(owner, kit.tenant)
  await running
  await runRetention(kit)
  assert.equal(await firstPlace(owner, kit.tenant), left)
})
