import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SqlBool, sql } from 'kysely'
import { affectedRow } from '../../src/db/affected-row.ts'
import type { Tx } from '../../src/db/database.ts'
import { leaseOf } from '../../src/db/lease.ts'
import { newUuid } from '../../src/kernel/ids.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

const ms = 10_000
const tenMinutes = 600_000
const lease = leaseOf('workflow_runs', {
  key: ['tenant_id', 'workflow_run_id'],
  holder: 'claimed_by',
  until: 'claimed_until',
  ms,
  open: { status: 'running' },
})

/** Rows of a real table, which no replica works on. */
async function startRows(t: TestContext) {
  const { db, tenant } = await startKit(t)
  const inTenant = <T>(work: (tx: Tx) => Promise<T>) => db.inTenant(tenant, work)
  const add = async () => {
    const id = newUuid()
    await inTenant((tx) =>
      sql`insert into workflow_runs (tenant_id, workflow_run_id, kind, workflow, params, status, second_approver,
          requested_by, seq_before, claimed_until, created_at)
        values (${tenant}, ${id}, 'workflow', '', '{}', 'running', false, '{}', 0, 'epoch', now())`.execute(tx),
    )
    return { tenant_id: tenant, workflow_run_id: id }
  }
  type Key = Awaited<ReturnType<typeof add>>
  type Held = Key & { claimed_by: string }
  return {
    add,
    take: (key: Key, at?: Date) =>
      inTenant((tx) => lease.take(tx, key, at).returningAll().$narrowType<{ claimed_by: string }>().executeTakeFirst()),
    write: (held: Held, reason: string) =>
      inTenant((tx) => affectedRow(lease.held(tx, held).set({ reason }).returning('reason'))),
    renew: (held: Held, at?: Date, wait?: number) => inTenant((tx) => lease.renew(tx, held, at, wait)),
    release: (held: Held, at?: Date, wait?: number) => inTenant((tx) => lease.release(tx, held, at, wait)),
    set: (key: Key, values: { status?: 'cancelled'; claimed_until?: Date }) =>
      inTenant((tx) =>
        tx
          .updateTable('workflow_runs')
          .set({ ...values, ...(values.status && { finished_at: new Date(), evidence_digest: '' }) })
          .where('tenant_id', '=', tenant)
          .where('workflow_run_id', '=', key.workflow_run_id)
          .execute(),
      ),
    find: (key: Key) =>
      inTenant((tx) =>
        tx
          .selectFrom('workflow_runs')
          .select(['claimed_by', 'claimed_until', 'reason'])
          .select(
            sql<SqlBool>`claimed_until between clock_timestamp() and clock_timestamp() + interval '10 s'`.as('is_good'),
          )
          .where('tenant_id', '=', tenant)
          .where('workflow_run_id', '=', key.workflow_run_id)
          .executeTakeFirstOrThrow(),
      ),
  }
}

test('a lease has one holder, and only the holder writes', async (t) => {
  const rows = await startRows(t)

  await t.test('of twenty callers at the same moment one takes it, in every round', async () => {
    const key = await rows.add()
    for (const _ of Array.from({ length: 5 })) {
      const taken = (await times(20, () => rows.take(key))).filter((row) => row !== undefined)
      assert.equal(taken.length, 1)
      assert.equal((await rows.find(key)).is_good, true)
      assert.equal(await rows.release(taken[0]!), true)
    }
  })

  await t.test('a holder that stalled until another one took the lease changes nothing', async () => {
    const key = await rows.add()
    const stalled = (await rows.take(key))!
    assert.equal(await rows.write(stalled, 'first'), true)
    await rows.set(key, { claimed_until: new Date(0) })
    const next = (await rows.take(key))!
    const before = await rows.find(key)
    assert.deepEqual(
      [await rows.write(stalled, 'late'), await rows.renew(stalled), await rows.release(stalled)],
      [false, false, false],
    )
    assert.deepEqual({ ...(await rows.find(key)) }, { ...before, reason: 'first' })
    assert.equal(await rows.write(next, 'second'), true)
  })

  await t.test('a stranger releases nothing, and a finished row has no holder', async () => {
    const [key, other] = [await rows.add(), await rows.add()]
    const held = (await rows.take(key))!
    for (const stranger of [
      { ...key, claimed_by: newUuid() },
      { ...held, workflow_run_id: other.workflow_run_id },
      { ...other, claimed_by: held.claimed_by },
    ])
      assert.deepEqual([await rows.release(stranger), await rows.renew(stranger)], [false, false])
    assert.equal((await rows.find(key)).claimed_by, held.claimed_by)
    await rows.set(key, { status: 'cancelled', claimed_until: new Date(0) })
    assert.deepEqual(
      [await rows.write(held, 'late'), await rows.renew(held), await rows.take(key)],
      [false, false, undefined],
    )
  })

  await t.test('a released row is free at once, or after the time that was asked for', async () => {
    const key = await rows.add()
    const first = (await rows.take(key))!
    await rows.release(first)
    const second = (await rows.take(key))!
    assert.notEqual(second.claimed_by, first.claimed_by)
    await rows.release(second, undefined, ms)
    assert.deepEqual([await rows.write(second, 'late'), await rows.take(key)], [false, undefined])
    await rows.set(key, { claimed_until: new Date(0) })
    assert.ok(await rows.take(key))
  })

  for (const offset of [tenMinutes, -tenMinutes])
    await t.test(`a process whose clock is off by ${offset} ms takes no lease, and leaves none longer`, async (own) => {
      const [held, free] = [await rows.add(), await rows.add()]
      await rows.take(held)
      own.mock.timers.enable({ apis: ['Date'], now: Date.now() + offset })
      assert.equal(await rows.take(held), undefined)
      const taken = (await rows.take(free))!
      assert.equal((await rows.find(free)).is_good, true)
      assert.equal(await rows.renew(taken), true)
      assert.equal((await rows.find(free)).is_good, true)
    })

  await t.test('any order of steps agrees with a model of one holder and one end', async () => {
    const key = await rows.add()
    const start = Date.now()
    let clock = 0
    let model: { holder: string | null; until: number } = { holder: null, until: 0 }
    const known: (typeof key & { claimed_by: string })[] = []
    let seed = 20261128
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31
      return Math.floor((seed / 2 ** 31) * below)
    }
    for (let n = 0; n < 200; n++) {
      clock += random(ms)
      const at = new Date(start + clock)
      const one = known[Math.max(0, known.length - 1 - random(3))]
      const isHolder = one !== undefined && one.claimed_by === model.holder
      const step = one && clock < model.until + ms ? random(4) : 0
      if (step === 0) {
        const taken = await rows.take(key, at)
        assert.equal(taken !== undefined, model.until <= clock, `step ${n}: take`)
        if (!taken) continue
        model = { holder: taken.claimed_by, until: clock + ms }
        known.push(taken)
      } else if (step === 1) {
        assert.equal(await rows.renew(one!, at), isHolder, `step ${n}: renew`)
        if (isHolder) model.until = clock + ms
      } else if (step === 2) assert.equal(await rows.write(one!, String(n)), isHolder, `step ${n}: write`)
      else {
        const wait = random(ms)
        assert.equal(await rows.release(one!, at, wait), isHolder, `step ${n}: release`)
        if (isHolder) model = { holder: null, until: clock + wait }
      }
    }
    assert.ok(known.length > 20, 'it changed hands often')
    assert.equal((await rows.find(key)).claimed_by, model.holder)
  })
})
