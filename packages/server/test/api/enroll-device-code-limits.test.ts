import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { decodeId } from '../../src/kernel/ids.ts'
import { type Machine, startGrants, statusIn } from '../support/actors/device-code-enrollment.ts'
import { runJob, times } from '../support/deployment/deployment.ts'
import { promptly } from '../support/deployment/wait-until.ts'

const waiting = 'authorization_pending'

test('machines that wait for a person', async (t) => {
  const g = await startGrants(t)
  const { kit, clock, second } = g

  await t.test(
    'of twenty who ask at once on two replicas one asks the provider, and of twenty who finish one enrolls',
    async () => {
      const machine = await g.begun()
      const onBoth = (i: number): Machine => ({ ...machine, on: i % 2 ? second : kit })
      for (const expected of [waiting, 'authorized']) {
        if (expected === 'authorized') await g.approve(machine)
        clock.advance(5)
        const before = g.asked()
        const answers = (await times(20, (i) => g.status(onBoth(i)))).map(statusIn)
        assert.equal(g.asked(), before + 1)
        assert.ok(answers.includes(expected) && answers.every((a) => a === expected || a === waiting), answers.join())
        assert.equal(statusIn(await g.status(onBoth(1))), expected, 'the other replica knows it too')
      }
      const finished = await times(20, (i) => g.finish(onBoth(i)))
      assert.deepEqual(finished.map((a) => a.status).toSorted(), [201, ...Array(19).fill(401)])
      assert.equal((await kit.admin.listDevices()).items.length, 1)
      assert.equal(await g.row(machine), undefined)
    },
  )

  await t.test('a request is held until somebody has approved, on either replica', async () => {
    g.idp.deviceChanged.interval = 1
    const machine = await g.begun()
    const first = await g.status(machine)
    const known = { 'if-none-match': String(first.headers.etag) }
    const began = performance.now()
    const briefly = await g.status(machine, { prefer: 'wait=1', ...known })
    assert.deepEqual([briefly.status, briefly.headers['preference-applied']], [304, 'wait=1'])
    assert.ok(performance.now() - began > 900)
    const held = [g.kit, g.second].map((on) => g.status({ ...machine, on }, { prefer: 'wait=60', ...known }))
    await delay(100)
    await g.approve(machine)
    const asked = performance.now()
    const answers = await Promise.all(held)
    assert.deepEqual(answers.map(statusIn), ['authorized', 'authorized'])
    assert.ok(performance.now() - asked < promptly)
    const other = await g.begun()
    const many = times(6, () => g.status(other, { prefer: 'wait=2', ...known }))
    const applied = (await many).map((a) => a.headers['preference-applied'])
    assert.equal(applied.filter((a) => a === undefined).length, 2, 'of one machine four are held')
    const storm = (await times(120, () => g.status(other))).filter((a) => a.status === 429)
    assert.ok(storm.length > 0 && Number(storm[0]?.headers['retry-after']) > 0, 'and it asks so often at most')
  })
})

test('machines that wait are bounded, of an address and of a tenant, and what is over is forgotten', async (t) => {
  const g = await startGrants(t)
  const { kit, clock } = g
  const beginOne = async () => (await g.begin(await g.newMachine())).status
  assert.equal(await beginOne(), 201)
  /** Inserts `n` waiting machines with one address. */
  const plant = (n: number, source: string, minutesAgo = 0) => {
    const expires_at = new Date(clock.now().getTime() + (10 - minutesAgo) * 60_000)
    return kit.db.inTenant(kit.tenant, (tx) =>
      sql`insert into device_grants (tenant_id, ticket, jkt, provider_id, source, state, interval_seconds, next_poll_at,
          expires_at)
        select ${kit.tenant}, decode(md5(${source}::text || ${minutesAgo}::text || i::text), 'hex'), 'x',
          ${decodeId('identity_provider', g.provider.provider_id)}::uuid, ${source}, 'starting', 5, ${expires_at}::timestamptz,
          ${expires_at}::timestamptz
        from generate_series(1, ${n}) as i`.execute(tx),
    )
  }
  await plant(30, '127.0.0.1', 30)
  await plant(45, '127.0.0.1')
  const statuses = await times(8, beginOne)
  assert.deepEqual(statuses.toSorted(), [...Array(4).fill(201), ...Array(4).fill(429)], 'of one address 50')
  const told = await g.begin(await g.newMachine())
  assert.deepEqual([told.status, told.headers['retry-after']], [429, '60'])
  clock.advance(601)
  assert.equal(await beginOne(), 201, 'once they are over nobody is held to them')
  await plant(500, '192.0.2.1')
  assert.equal(await beginOne(), 429, 'and of a tenant 500, wherever they are')
  await runJob(kit.app, 'forget_what_is_over')
  const { n } = await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .selectFrom('device_grants')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('tenant_id', '=', kit.tenant)
      .executeTakeFirstOrThrow(),
  )
  assert.equal(n, 50 + 1 + 500, 'what ended a quarter of an hour ago is forgotten')
})
