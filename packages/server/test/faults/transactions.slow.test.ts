import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { connectDatabase, foreground, UnknownOutcome } from '../../src/db/database.ts'
import { decodeId } from '../../src/kernel/ids.ts'
import { enroll, enrollRaw } from '../support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../support/actors/gateways.ts'
import { refused } from '../support/clients/answers.ts'
import { type ApiAnswer, bearer, type Caller, call, operation } from '../support/clients/api-calls.ts'
import { createNetwork, type Network } from '../support/database/network-faults.ts'
import { type Kit, type Replica, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { allEventsSql } from '../support/domain/audit-events.ts'
import { watchBackends } from './backends.ts'

/** Longest time a request may wait, in ms; the slack is for a busy machine. */
const bar = 3000
const slack = 12_000
/** Waits until this process has noticed a fault of the network on its connections. */
const noticed = async () => {
  await delay(20)
  await turn()
}

/** Starts two replicas; the first is behind a network that can be disturbed. */
async function startDisturbed(t: Parameters<typeof startKit>[0], config: { databaseConnections?: number } = {}) {
  let network: Network | undefined
  const kit = await startKit(t, {
    replicas: 2,
    config,
    route: async (url, n) => {
      if (n > 0) return url
      network = await createNetwork(t, url)
      return `${network.url}?application_name=first`
    },
  })
  return { kit, network: network!, admin: bearer(kit.adminKey), second: kit.replicas[1] as Replica }
}

const timed = async (ask: () => Promise<ApiAnswer>) => {
  const start = performance.now()
  const answer = await ask()
  return { ...answer, took: performance.now() - start }
}
const suspend = (kit: Kit, admin: Caller, user_id: string) => call(kit, operation('suspendUser'), admin, { user_id })
const isSuspended = async (kit: Kit, user: string) => {
  const id = decodeId('user', user)!
  return kit.replicas[1]!.app.db.inTenant(kit.tenant, async (tx) => {
    const row = await tx.selectFrom('users').select('status').where('user_id', '=', id).executeTakeFirstOrThrow()
    const logged = await tx
      .selectFrom('changes')
      .selectAll()
      .where('subject', '=', id)
      .where('kind', '=', 'user')
      .execute()
    const { rows: events } = await sql<{ outcome: string }>`select outcome from ${sql.raw(allEventsSql)} as e
      where kind = 'user.changed' and target_id = ${user}`.execute(tx)
    return {
      suspended: row.status === 'suspended',
      logged: logged.length,
      audited: events.filter((e) => e.outcome === 'success').length,
    }
  })
}

test('a change that stalls between its statements is rolled back, and can be repeated', async (t) => {
  const { kit, network, admin } = await startDisturbed(t)
  const made = await call(kit, operation('changeUser'), admin, { operation: 'create', user: { username: 'ada' } })
  const user = String((made.json.user as { user_id: string }).user_id)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0, user_id: user } })
  const device = await enrollRaw(kit, token)
  const before = await isSuspended(kit, user)

  network.holdAt('user.changed')
  const stalled = await timed(() => suspend(kit, admin, user))
  assert.ok(network.isHolding(), 'it was held in the middle')
  assert.equal(stalled.status, 500)
  assert.ok(stalled.took < bar + slack, `answered after ${stalled.took} ms`)
  network.release()
  // The next user of the pooled connection must not commit the half-finished transaction.
  await times(20, () => call(kit, operation('listUsers'), admin))
  assert.deepEqual(await isSuspended(kit, user), before)
  assert.equal((await call(kit, operation('policyDigest'), device.caller)).status, 200)

  const again = await suspend(kit, admin, user)
  assert.deepEqual([again.status, again.json.changed], [200, true], again.text)
  assert.deepEqual(await isSuspended(kit, user), {
    suspended: true,
    logged: before.logged + 1,
    audited: before.audited + 1,
  })
  assert.equal((await call(kit, operation('policyDigest'), device.caller)).status, 401)
  console.log(`# a stalled suspension: answered after ${Math.round(stalled.took)} ms, 0 halves committed`)
})

test('a stalled gateway report is answered like any other request, and counts once', async (t) => {
  const { kit, network } = await startDisturbed(t)
  const { client } = await makeGateway(kit)
  const device = await enroll(kit, 'laptop')
  const session_id = newVpnSessionId()
  const body = meteringReport([{ session_id, device_id: device.id, state: 'active', rx_bytes: 10, tx_bytes: 1 }])
  network.holdAt('insert into "metering_reports"')
  const start = performance.now()
  await assert.rejects(client.metering({ body }), refused(500))
  const took = performance.now() - start
  assert.ok(took < bar + slack, `answered after ${took} ms`)
  network.release()
  const again = await client.metering({ body })
  assert.deepEqual([again.accepted, again.duplicate], [1, 0])
  assert.equal((await kit.admin.getSession({ params: { session_id } })).rx_bytes, 10)
})

test('a commit without an answer is reported as an unknown outcome', async (t) => {
  const { kit, network, admin } = await startDisturbed(t)
  // The commit is held on its way: nothing was committed.
  network.holdAt('commit\0', 'insert into "users"')
  const lost = await timed(() =>
    call(kit, operation('changeUser'), admin, { operation: 'create', user: { username: 'bob' } }),
  )
  assert.equal(lost.status, 500)
  assert.match(String(lost.json.detail), /outcome of this change is unknown/)
  assert.ok(lost.headers['retry-after'])
  assert.ok(lost.took < bar + slack, `answered after ${lost.took} ms`)
  network.release()
  console.log(`# an unanswered commit: answered after ${Math.round(lost.took)} ms`)
  // A database error in reply to the commit is an answer: the outcome is known.
  await assert.rejects(
    kit.db.inTenant(kit.tenant, async (tx) => {
      await sql`select 1/0`.execute(tx).catch(() => {})
      return 'ignored'
    }),
    (e) => !(e instanceof UnknownOutcome) && /failed statement was ignored/.test((e as Error).message),
  )
})

test('backends stopped within a statement fail those requests only', async (t) => {
  const { kit, admin } = await startDisturbed(t, { databaseConnections: 3 })
  const backends = await watchBackends(t, kit)
  const list = () => timed(() => call(kit, operation('listUsers'), admin))
  // A connection whose last statement ended a transaction belongs to the pool, unless it is within another transaction.
  // The feed's connection ends its transaction in the same message as its query.
  let pool: number[] = []
  await until(async () => {
    await times(12, list)
    pool = await backends.pids("application_name = 'first' and query in ('commit', 'rollback')")
    return pool.length >= 2
  }, 'a pool of two connections')
  assert.ok(pool.length <= 3, `${pool.length} connections of the pool`)
  backends.stop(pool.slice(0, 2))
  const during = await times(30, list)
  const worst = Math.max(...during.map((a) => a.took))
  assert.ok(worst < bar + slack, `one waited ${worst} ms`)
  backends.goOn()
  await delay(100)
  const after = [...(await times(30, list)), ...(await times(30, list))]
  assert.deepEqual(new Set(after.map((a) => a.status)), new Set([200]))
  console.log(
    `# two of three backends stopped: worst wait ${Math.round(worst)} ms, ${after.filter((a) => a.status !== 200).length} of ${after.length} failed afterwards`,
  )
})

test('connections lost in use end no process, and uncommitted work is repeated', async (t) => {
  const { kit, network } = await startDisturbed(t)
  let runs = 0
  const count = await kit.db.inTenant(kit.tenant, async (tx) => {
    runs++
    await sql`select 1`.execute(tx)
    if (runs === 1) network.cut()
    await noticed()
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from users`.execute(tx)
    return rows[0]!.n
  })
  assert.ok(count >= 1)
  assert.equal(runs, 2)
  // The connection is lost after the last statement and before the commit is sent: the outcome is known.
  await kit.db.inTenant(kit.tenant, async (tx) => {
    runs++
    await sql`select 1`.execute(tx)
    if (runs === 3) network.cut()
    await noticed()
  })
  assert.equal(runs, 4)
  // The connection is cut while idle: the next request opens a new one.
  network.cut()
  await noticed()
  assert.ok((await kit.db.inTenant(kit.tenant, (tx) => sql`select 1`.execute(tx))).rows.length === 1)
})

test('of two deadlocked transactions both complete', async (t) => {
  const kit = await startKit(t)
  const ids = await times(2, async (i) => {
    const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: `user-${i}` } } })
    return decodeId('user', user.user_id)!
  })
  let runs = 0
  let held = 0
  const both = Promise.withResolvers<void>()
  const renames = (order: readonly string[], name: string) =>
    kit.db.inTenant(kit.tenant, async (tx) => {
      runs++
      for (const id of order) {
        await tx
          .updateTable('users')
          .set({ display_name: name })
          .where('tenant_id', '=', kit.tenant)
          .where('user_id', '=', id)
          .execute()
        // Each transaction has its first lock before either asks for the other's.
        if (++held === 2) both.resolve()
        await both.promise
      }
    })
  await Promise.all([renames(ids, 'one'), renames([...ids].reverse(), 'two')])
  assert.equal(runs, 3, 'the one that lost ran again')
})

test('a process stopped within a transaction holds its locks for at most a second', async (t) => {
  const { kit, network, second } = await startDisturbed(t)
  network.holdAt('display_name')
  const stuck = kit.db.inTenant(kit.tenant, async (tx) => {
    await sql`update tenant_epochs set seq = seq where tenant_id = ${kit.tenant}`.execute(tx)
    await sql`update users set display_name = 'x' where tenant_id = ${kit.tenant}`.execute(tx)
  })
  stuck.catch(() => {})
  await delay(100)
  const admin = bearer(kit.adminKey)
  const start = performance.now()
  const answers = await times(8, (i) =>
    call({ ...kit, ...second }, operation('changeUser'), admin, { operation: 'create', user: { username: `u${i}` } }),
  )
  const took = performance.now() - start
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([201]), answers.map((a) => a.text).join('\n'))
  assert.ok(took < bar + slack, `${took} ms`)
  network.release()
  await stuck.catch(() => {})
  console.log(
    `# a replica stopped in mid-transaction: the other made ${answers.length} of ${answers.length} changes within ${Math.round(took)} ms`,
  )
})

test('with too few database connections requests wait instead of failing', async (t) => {
  const kit = await startKit(t)
  const backends = await watchBackends(t, kit)
  const role = `small_${randomBytes(8).toString('hex')}`
  await backends.client.query(`create role ${role} login connection limit 2 in role holdfast_app`)
  t.after(async () => {
    const client = new pg.Client({ connectionString: kit.databaseUrl.replace(/\/[^/?]+(\?|$)/, '/postgres$1') })
    await client.connect()
    await client.query(`drop role if exists ${role}`)
    await client.end()
  })
  const url = new URL(kit.databaseUrl.replace('@/', '@socket/'))
  url.username = role
  const db = connectDatabase(url.href.replace('@socket/', '@/'), { max: 20, onError: () => {}, slowness: 5 })
  const work = () => db.inTenant(kit.tenant, (tx) => sql`select pg_sleep(0.005)`.execute(tx))
  const settled = await Promise.allSettled(Array.from({ length: 100 }, work))
  await db.close()
  const failed = settled.flatMap((s) => (s.status === 'rejected' ? [String(s.reason)] : []))
  assert.deepEqual(failed, [])
  console.log(`# 2 connections for a pool of 20: 0 of 100 transactions failed`)
})

test('an answer that arrived in time counts, even if this process was busy', async (t) => {
  const kit = await startKit(t, { slowness: 1 })
  const patience = { ...foreground, total: 1500 }
  /** Blocks this thread without using CPU, so that the database has the core. */
  const busyUntil = (at: number) =>
    void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, at - performance.now())
  const start = performance.now()
  await kit.db.inTenant(
    kit.tenant,
    async (tx) => {
      await sql`update tenant_epochs set seq = seq where tenant_id = ${kit.tenant}`.execute(tx)
      // The thread is blocked right after the commit was sent, and until its time is over.
      setImmediate(() => busyUntil(start + 2000))
    },
    patience,
  )
  assert.ok(performance.now() - start >= 1990)
  // A transaction that times out before its commit is not committed, and its outcome is known.
  const late = kit.db.inTenant(
    kit.tenant,
    async (tx) => {
      await sql`select 1`.execute(tx)
      busyUntil(performance.now() + 1600)
    },
    patience,
  )
  await assert.rejects(late, (e) => !(e instanceof UnknownOutcome))
})
