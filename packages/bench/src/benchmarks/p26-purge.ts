import { setTimeout as delay } from 'node:timers/promises'
import { changeRetention } from '@holdfast/sdk'
import type pg from 'pg'
import type { Load } from './rig/load-process.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, milliseconds, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, at, median, medianRatio, quantile } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'purge of 1 million events'
const path = '/v1/admin/tokens?limit=20'
const connections = 64
const record = 'max(seq) as n from audit_beginnings'
const telemetry = 'count(*) as n from telemetry_events'
/** Rows of a class that are due in each run of the job. Before each run, the audit log's retention shrinks by a day. */
const ofARun = 50_000
const oldestDays = 30_000

/** P26: the cost of a purge to concurrent writers, and its speed at any position of the purged rows. */
export const purge: Benchmark = {
  id: 'P26',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const { admin, apiKey } = await openAdmin(server)
    await changeRetention(admin, { audit: 36_500, telemetry: 10 })
    const events = Math.max(12 * ofARun, scale.size(1_000_000))
    say(`${events} events of long ago`)
    await server.withDatabase((db) => seedRecord(db, events))
    const beside = await besideWrites(bench, server, apiKey)
    say('the rest of them')
    const first = await purgeRecord(server)
    let last = first
    for (let left = events - (scale.rounds + 1) * ofARun; left > 0; left -= ofARun) last = await purgeRecord(server)
    return [...beside, rowOfRuns(events, first, last), await amongOthers(bench, server)]
  },
}

/**
 * Inserts events; every 50,000 of them are a day older than the next. Existing events become the oldest, since a purge
 * removes the log from its beginning.
 */
async function seedRecord(db: pg.Client, events: number): Promise<void> {
  await db.query(`update retention_settings set settles_at = 'epoch'; set session_replication_role = replica`)
  await db.query(`update audit_log set sequenced_at = now() - make_interval(days => $1)`, [oldestDays])
  await db.query(
    `with head as (update audit_heads h set seq = h.seq + $1 from tenants t
       where t.tenant_id = h.tenant_id and t.name = 'default' returning h.tenant_id, h.seq - $1 as seq)
     insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, target_id, source_ip, record, hash,
       sequenced_at)
     select tenant_id, head.seq + i, gen_random_uuid(), now() - i * interval '1 ms', 'api_key.used', 'success',
       'key_' || i % 100, 'dev_' || i % 10000, '192.0.2.' || i % 250, repeat('a record of usual length ', 24),
       sha256(int4send(i)), now() - make_interval(days => ($2::bigint - (head.seq + i - 1) / $3::bigint)::integer)
     from head, generate_series(1, $1::integer) as i`,
    [events, oldestDays, ofARun],
  )
  await db.query('set session_replication_role = default; analyze audit_log')
}

/** Purges the audit log after its retention was shortened by a day. */
async function purgeRecord(server: Server): Promise<number> {
  await server.withDatabase((db) =>
    db.query(`set session_replication_role = replica;
      update retention_settings set days = days || jsonb_build_object('audit',
        least((days ->> 'audit')::integer, ${oldestDays + 1}) - 1)`),
  )
  return purgeRun(server, record)
}

/** Returns the seconds of one run of the job. Throws if the run did not remove the rows that were due. */
async function purgeRun(server: Server, from: string): Promise<number> {
  return server.withDatabase(async (db) => {
    const count = async () => Number((await db.query(`select ${from}`)).rows[0]?.n ?? 0)
    const before = await count()
    const started = performance.now()
    await db.query(`select graphile_worker.add_job('forget_what_is_over')`)
    for (let open = 1; open > 0; await delay(20))
      open = (await db.query(`select from graphile_worker.jobs where task_identifier = 'forget_what_is_over'`)).rows
        .length
    const seconds = (performance.now() - started) / 1000
    const gone = Math.abs((await count()) - before)
    if (gone !== ofARun) throw new Error(`a run took ${gone} rows`)
    return seconds
  })
}

/** Measures reads by API key, each with its audit event, at half of the maximum rate. */
async function besideWrites(bench: Bench, server: Server, apiKey: string): Promise<Row[]> {
  const { scale, say } = bench
  const { load } = startRig(bench)
  const requests = pack([rawRequest('GET', path, { authorization: `Bearer ${apiKey}` })])
  const target = { port: server.port, connections, requests }
  const loads: Load[] = []
  say('warming up')
  const warm = await load.call('run', { ...target, seconds: scale.seconds })
  const half = rateOf(await load.call('run', { ...target, seconds: scale.seconds }), 200) / 2
  loads.push(warm)
  const p99 = async () => {
    const done = await load.call('pace', { ...target, seconds: scale.seconds * 2, perSecond: half })
    rateOf(done, 200)
    loads.push(done)
    return quantile(done.latenciesMs, 0.99)
  }
  say('writes beside a purge, and without')
  const found = await alternate(scale.rounds, {
    with: async () => {
      const purging = purgeRecord(server)
      const measured = await p99()
      await purging
      return measured
    },
    without: p99,
  })
  const ratio = medianRatio(found.with, found.without)
  return [
    {
      id: 'P26',
      work: `${work}; audited reads at half load (${perSecond(half)}): p99`,
      figure: milliseconds(median(found.with)),
      baseline: `${milliseconds(median(found.without))} without a purge`,
      ratio,
      target: '≤ 1.5',
      verdict: verdictOf(ratio <= 1.5),
      note: `1,000 events a transaction, a rest as long as each between them; ${busyNote(loads)}`,
      rounds: found,
    },
  ]
}

function rowOfRuns(events: number, first: number, last: number): Row {
  const ratio = last / first
  return {
    id: 'P26',
    work: `the last ${ofARun} of ${events} events`,
    figure: perSecond(ofARun / last),
    baseline: `${perSecond(ofARun / first)} earlier`,
    ratio: first / last,
    target: '≥ 0.7',
    verdict: verdictOf(ratio <= 1 / 0.7),
  }
}

/**
 * Measures telemetry of a tenant that keeps it for 10 days: alone in its month, and among a million rows of other
 * tenants.
 */
async function amongOthers({ scale, say }: Bench, server: Server): Promise<Row> {
  const others = scale.size(1_000_000)
  const seed = (tenants: string, rows: number) =>
    server.withDatabase((db) =>
      db.query(
        `insert into telemetry_events (tenant_id, at, device_id, event_id, kind)
         select ${tenants}, now() - interval '12 days' + i * interval '1 ms', gen_random_uuid(), 'event-' || i, 'connected'
         from generate_series(1, $1::integer) as i`,
        [rows],
      ),
    )
  const own = `(select tenant_id from tenants where name = 'default')`
  say(`a tenant of a short period among ${others} rows of others`)
  await seed(own, ofARun)
  const alone = await purgeRun(server, telemetry)
  await seed(`md5((i % 50)::text)::uuid`, others)
  const among: number[] = []
  for (let i = 0; i < 3; i++) {
    await seed(own, ofARun)
    among.push(await purgeRun(server, telemetry))
  }
  const ratio = alone / median(among)
  return {
    id: 'P26',
    work: `a tenant that keeps telemetry for less, among ${others} rows of 50 others`,
    figure: perSecond(ofARun / median(among)),
    baseline: `${perSecond(ofARun / alone)} alone in its month`,
    ratio,
    target: '≥ 0.7',
    verdict: verdictOf(at(among, 0) > 0 && ratio >= 0.7),
    rounds: { among },
  }
}
