import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { enroll, payloadOf, withGateway } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { holdTable } from '../support/database/table-lock.ts'
import { createClock, type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { everyEvent } from '../support/domain/audit-events.ts'
import { checking, disk, publishChecks, rulesAt, score } from '../support/domain/posture.ts'

type Device = Awaited<ReturnType<typeof enroll>>
const av = { expression: 'within_last(av.updated_at, 86400)' }

const rulesEverywhere = ({ replicas }: Kit, device: Device) => rulesAt(device, replicas)
const seqs = ({ replicas, tenant }: Kit) => replicas.map(({ app }) => app.feed.seqOf(tenant))

/** The database statements during `work`, without those of the heartbeat, the sequencer and the jobs. */
async function statementsOf(t: TestContext, work: () => Promise<unknown>): Promise<string[]> {
  const sent: string[] = []
  const { query } = pg.Client.prototype
  const restore = () => {
    pg.Client.prototype.query = query
  }
  t.after(restore)
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first] = given as readonly unknown[]
    sent.push(typeof first === 'string' ? first : (first as { text: string }).text)
    return Reflect.apply(query, this, given)
  } as typeof query
  await work()
  restore()
  const tables = /\b(device_postures|changes|audit_arrivals|policy_\w+|tenant_epochs|devices|pg_advisory\w*)\b/
  return sent.filter(
    (text) => tables.test(text) && !/select tenant_id, seq|from tenants|from audit_arrivals/.test(text),
  )
}

async function rowsOf(kit: Kit): Promise<{ changes: number; variants: number; events: number }> {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  const { rows } = await client
    .query(
      `select (select count(*)::int from changes) as changes, (select count(*)::int from policy_variants) as variants,
        (select count(*)::int from ${everyEvent} as e where kind like 'posture%') as events`,
    )
    .finally(() => client.end())
  return rows[0]
}

test('posture reports on two replicas', async (t) => {
  const kit = await startKit(t, { replicas: 2 })

  await t.test('a policy that asks more of the same fact judges by the last report, on every replica', async () => {
    const laptop = await enroll(kit, 'laptop')
    const say = (edr: number) => laptop.client.reportPosture({ body: { facts: { 'edr.score': edr } } })
    const expect = async (rules: string[], why: string) => {
      await kit.heard()
      assert.deepEqual(await rulesEverywhere(kit, laptop), [rules, rules], why)
    }
    await publishChecks(kit, { edr: score(50) })
    await say(60)
    await expect(['plain', 'wiki'], 'as told')
    const [told] = seqs(kit)
    await say(80)
    assert.equal(seqs(kit)[0], told, 'not told of')
    await publishChecks(kit, { edr: score(70) })
    await expect(['plain', 'wiki'], 'better than what was told of')
    await publishChecks(kit, { edr: score(50) })
    await say(55)
    await publishChecks(kit, { edr: score(60) })
    await expect(['plain'], 'worse than what was told of')

    await say(65)
    await publishChecks(kit, {})
    await say(10)
    const dropped = { policy: checking({ edr: score(60) }, ['edr']) }
    const { impact } = await kit.admin.simulatePolicy({ body: dropped })
    assert.equal(impact.devices_affected, 1, 'a trial reads the reports for checks that nobody makes')
    await publishChecks(kit, { edr: score(60) })
    await expect(['plain'], 'of a fact that no check read meanwhile')
  })

  await t.test('a posture report that changes no verdict changes no digest and writes no policy row', async (t) => {
    const laptop = await enroll(kit, 'laptop')
    const { secret } = await withGateway(kit)
    const gateway = kit.clientFor(secret, kit.replicas[1])
    await publishChecks(kit, {
      disk,
      edr: score(50),
      av,
      warned: { expression: 'firewall.enabled', enforcement: 'warn' },
    })
    const facts = (edr: number, more: object = {}) => ({
      'disk.encrypted': true,
      'edr.score': edr,
      'av.updated_at': new Date(Date.now() - 3_600_000).toISOString(),
      ...more,
    })
    const first = await laptop.client.reportPosture({ body: { facts: facts(90) } })
    assert.equal(first.verdict, 'compliant')
    await kit.heard()
    const digest = await laptop.client.policyDigest()
    await rulesEverywhere(kit, laptop)
    const told = await gateway.unifiedPolicy()
    const [before, rows] = [seqs(kit), await rowsOf(kit)]

    const changing = [
      facts(51, { uptime_seconds: 17, 'os.version': '14.3' }),
      facts(70, { 'av.updated_at': new Date().toISOString(), 'custom.note': 'other' }),
      facts(90),
    ]
    for (const each of changing) {
      const sent = await statementsOf(t, () => laptop.client.reportPosture({ body: { facts: each } }))
      assert.deepEqual(
        sent.map((text) => text.replaceAll('"', '').slice(0, 34)),
        [
          'select pg_advisory_xact_lock_share',
          'select facts, verdict, reported_at',
          'update device_postures set facts =',
        ],
      )
    }
    await kit.heard()
    assert.deepEqual(seqs(kit), before, 'no change is logged')
    assert.deepEqual(await rowsOf(kit), rows, 'no row of a change, a policy or the record')
    assert.deepEqual(await laptop.client.policyDigest(), digest)
    const since = { since: told.seq, as_of: payloadOf(told.policy).generated_at }
    const next = await gateway.unifiedPolicy({ query: since })
    assert.deepEqual([next.seq, payloadOf(next.policy).peers], [told.seq, []], 'no gateway is told of anything')

    const { facts: shown, reported_at } = await kit.admin.getDevicePosture({ params: { device_id: laptop.id } })
    assert.equal(shown['edr.score'], 90, 'the last report is what an administrator sees')
    assert.ok(Date.parse(reported_at!) > Date.parse(first.reported_at))

    for (const turning of [facts(49), facts(90), facts(90, { 'firewall.enabled': true })]) {
      const [seq = 0] = seqs(kit)
      await laptop.client.reportPosture({ body: { facts: turning } })
      assert.equal(seqs(kit)[0], seq + 1, 'what turns a check is told of')
    }
  })

  await t.test('reports and policies that come at once on two replicas end with what the last two say', async () => {
    const laptop = await enroll(kit, 'laptop')
    const admins = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
    const devices = kit.replicas.map((replica) => laptop.at(replica))
    const wrong: string[] = []
    for (let round = 0; round < 8; round++) {
      const edr = 40 + ((round * 37) % 60)
      const least = 40 + ((round * 53) % 60)
      await Promise.all([
        devices[round % 2]!.reportPosture({ body: { facts: { 'edr.score': edr } } }),
        admins[(round >> 1) % 2]!.publishPolicy({
          body: { channel: 'stable', policy: checking({ edr: score(least) }, ['edr']) },
        }),
      ])
      await kit.heard()
      const wanted = edr >= least ? 'plain,wiki' : 'plain'
      const given = await rulesEverywhere(kit, laptop)
      if (given.some((rules) => rules.join() !== wanted)) wrong.push(`${edr} of ${least}: ${given.join(' | ')}`)
    }
    assert.deepEqual(wrong, [])
  })

  await t.test('of twenty reports at once on two replicas the last one stays, and is what both go by', async () => {
    const laptop = await enroll(kit, 'laptop')
    await publishChecks(kit, { edr: score(50) })
    const devices = kit.replicas.map((replica) => laptop.at(replica))
    const facts = (i: number) => ({ 'edr.score': i % 3 === 0 ? 10 : 90, 'custom.n': i })
    const sent = await times(20, async (i) => {
      const { reported_at } = await devices[i % 2]!.reportPosture({ body: { facts: facts(i) } })
      return { i, reported_at }
    })
    const { facts: stored, reported_at } = await kit.admin.getDevicePosture({ params: { device_id: laptop.id } })
    const last = sent.reduce((a, b) => (a.reported_at >= b.reported_at ? a : b))
    assert.equal(reported_at, last.reported_at)
    const n = Number(stored['custom.n'])
    assert.ok(sent.some((each) => each.i === n && each.reported_at === reported_at))
    await kit.heard()
    const rules = n % 3 === 0 ? ['plain'] : ['plain', 'wiki']
    assert.deepEqual(await rulesEverywhere(kit, laptop), [rules, rules])
  })

  await t.test('no policy comes into force between the judgement of a report and its commit', async () => {
    const laptop = await enroll(kit, 'laptop')
    await publishChecks(kit, { edr: score(50) })
    await laptop.client.reportPosture({ body: { facts: { 'edr.score': 80 } } })
    await rulesEverywhere(kit, laptop)
    const other = new pg.Client({ connectionString: kit.databaseUrl })
    await other.connect()
    await other.query('begin; select from device_postures for update')
    const waitingFor = async (lock: string) => {
      const { rows } = await other.query(
        `select l.locktype from pg_locks l join pg_stat_activity a using (pid) where a.datname = current_database()
          and not l.granted and l.locktype = $1`,
        [lock],
      )
      return rows.length > 0
    }
    let published = false
    const reported = laptop.client.reportPosture({ body: { facts: { 'edr.score': 60 } } })
    await until(() => waitingFor('transactionid'), 'the report to wait')
    const publishing = publishChecks(kit, { edr: score(70) }).then(() => {
      published = true
    })
    await until(async () => published || (await waitingFor('advisory')), 'the policy to wait')
    if (published) await rulesEverywhere(kit, laptop)
    await other.query('commit')
    await other.end()
    await Promise.all([reported, publishing])
    await kit.heard()
    assert.deepEqual(await rulesEverywhere(kit, laptop), [['plain'], ['plain']])
  })
})

test('posture reports as time goes by', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })

  await t.test(
    'what gateways know to end is moved before the last half of it is over, and an earlier end at once',
    async () => {
      const wireguard_public_key = Buffer.alloc(32, 1).toString('base64')
      const laptop = await enroll(kit, 'laptop', { now: clock.now, wireguard_public_key })
      const { secret } = await withGateway(kit)
      const gateway = kit.clientFor(secret)
      await publishChecks(kit, { disk: { ...disk, freshness_seconds: 3600 }, av })
      const updated = (ago: number) => new Date(clock.now().getTime() - ago * 1000).toISOString()
      const say = (ago = 0) =>
        laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': true, 'av.updated_at': updated(ago) } } })
      const minutesUntil = (end: string) => Math.round((Date.parse(end) - clock.now().getTime()) / 60_000)
      const endAtGateway = async () => {
        const { peers } = payloadOf((await gateway.unifiedPolicy()).policy)
        return minutesUntil(peers[0].valid_until)
      }
      const seq = () => kit.app.feed.seqOf(kit.tenant)
      await say()
      assert.equal(await endAtGateway(), 60)

      const told = seq()
      for (let minutes = 10; minutes <= 30; minutes += 10) {
        const { next_report_before } = await say()
        assert.equal(seq(), told, `nothing to tell when ${minutes - 10} minutes are over`)
        assert.equal(minutesUntil(next_report_before!), 70 - minutes, 'the device hears of the end that gateways know')
        clock.advance(600)
      }
      assert.equal(await endAtGateway(), 30)
      clock.advance(60)
      await say()
      assert.equal(seq(), told + 1)
      assert.equal(await endAtGateway(), 60)

      await say(86_400 - 300)
      assert.equal(seq(), told + 2, 'what ends before that is told of')
      assert.equal(await endAtGateway(), 5)
    },
  )

  await t.test('the first report of a device is not replaced by one that was made before it', async () => {
    const laptop = await enroll(kit, 'laptop', { now: clock.now })
    // Both find no row, and store theirs one after the other.
    const held = await holdTable(kit, 'device_postures')
    const say = (n: number) => laptop.client.reportPosture({ body: { facts: { 'custom.n': n } } })
    const later = say(2)
    await held.waits(1)
    clock.advance(-1)
    const earlier = say(1)
    await held.waits(2)
    await held.letGo()
    await Promise.all([later, earlier])
    const { facts } = await kit.admin.getDevicePosture({ params: { device_id: laptop.id } })
    assert.deepEqual(facts, { 'custom.n': 2 })
  })

  await t.test('who comes under a canary without a report is judged by it as told', async () => {
    const user_id = await makeUser(kit, 'anna')
    const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'early' } } })
    const laptop = await enroll(kit, 'laptop', { user_id, now: clock.now })
    await publishChecks(kit, { edr: score(50) })
    await kit.admin.publishPolicy({
      body: {
        channel: 'canary',
        policy: checking({ edr: score(70) }, ['edr']),
        rollout: { percent: 0, group_ids: [group.group_id] },
      },
    })
    await laptop.client.reportPosture({ body: { facts: { 'edr.score': 60 } } })
    const [told = 0] = seqs(kit)
    await laptop.client.reportPosture({ body: { facts: { 'edr.score': 80 } } })
    assert.equal(seqs(kit)[0], told + 1, 'it turns a check of the canary')
    const members = { add_members: [user_id] }
    await kit.admin.changeGroup({ body: { operation: 'update', group_id: group.group_id, group: members } })
    const { channel } = await laptop.client.policyDigest()
    assert.deepEqual([channel, ...(await rulesEverywhere(kit, laptop))], ['canary', ['plain', 'wiki']])
  })
})
