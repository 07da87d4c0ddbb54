import { allInPlace, wordsRead } from './rig/audit-log.ts'
import { runByDriver } from './rig/driver-load.ts'
import type { Load } from './rig/load-process.ts'
import { hasPgbench, runPgbench } from './rig/pgbench.ts'
import { cpuSeconds } from './rig/process-tree.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, microseconds, perSecond, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'audit ingest, batches of 500, durable'
const batch = 500
const clients = 8
/** Enough gateways that none exceeds its own rate limit. */
const gateways = 16
/** Batches per second of a round. */
const batchesPerSecond = 16

/**
 * P9: events from gateways are checked, stored under their own ids, given sequence numbers, and their words are
 * indexed. All of it counts, including the work after the answer.
 */
export const auditIngest: Benchmark = {
  id: 'P9',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const { admin } = await openAdmin(server)
    const pool = await admin.createGatewayPool({ body: { name: 'bench', region: { code: 'eu' } } })
    const secrets: string[] = []
    for (let n = 0; n < gateways; n++) {
      const body = { name: `bench-${n}` }
      secrets.push((await admin.createGateway({ params: { pool_id: pool.pool_id }, body })).secret)
    }
    const { load } = startRig(bench)
    const databaseUrl = await server.databaseUrl()
    const loads: Load[] = []
    const cpu: Record<'ingest' | 'insert', number[]> = { ingest: [], insert: [] }
    let sent = 0

    const ingest = async () => {
      const requests = Array.from({ length: batchesPerSecond * scale.seconds }, () =>
        batchRequest(secrets[sent % gateways]!, sent++),
      )
      const before = cpuSeconds(server.pid())
      const done = await load.call('run', {
        port: server.port,
        connections: clients,
        requests: pack(requests),
        once: true,
      })
      await allInPlace(server)
      await wordsRead(server)
      cpu.ingest.push((cpuSeconds(server.pid()) - before) / (requests.length * batch))
      loads.push(done)
      return rateOf(done, 200) * batch
    }
    const insert = async () => {
      const common = { databaseUrl, clients, seconds: scale.seconds }
      const script = ['begin', `set local holdfast.tenant = '*'`, insertBatch, 'commit']
      const before = cpuSeconds(server.pid())
      const rate = hasPgbench()
        ? await runPgbench({ ...common, script: `${script.join(';\n')};\n` })
        : await runByDriver({ ...common, script: () => script })
      cpu.insert.push((cpuSeconds(server.pid()) - before) / (rate * scale.seconds * batch))
      return rate * batch
    }

    say('warming up')
    await ingest()
    await makeEqualTable(server)
    await ingest()
    await insert()
    for (const warm of Object.values(cpu)) warm.length = 0
    say(work)
    const found = await alternate(scale.rounds, { ingest, insert })
    const ratio = medianRatio(cpu.insert, cpu.ingest)
    return [
      {
        id: 'P9',
        work: `${work}: CPU time of the server and its PostgreSQL for an event`,
        figure: `${microseconds(median(cpu.ingest))} (${perSecond(median(found.ingest))})`,
        baseline: `${microseconds(median(cpu.insert))} one INSERT of ${batch} rows into an equal table (${perSecond(median(found.insert))})`,
        ratio,
        target: '≥ 0.5',
        verdict: verdictOf(ratio >= 0.5),
        note: `until every event has its place and hash, and its words are read; ratio of the rates ${medianRatio(found.ingest, found.insert).toFixed(2)}; ${busyNote(loads)}`,
        rounds: { ...found, cpuIngest: cpu.ingest, cpuInsert: cpu.insert },
      },
    ]
  },
}

function batchRequest(secret: string, n: number): Buffer {
  const at = new Date().toISOString()
  const events = Array.from({ length: batch }, (_, i) => ({
    event_id: `bench-${n}-${i}`,
    kind: 'gateway_report.traffic_denied',
    at,
    outcome: 'refused',
    target: { type: 'resource', id: `10.1.${i % 200}.7`, name: `resource ${i % 40}` },
    remote_ip: `198.51.100.${i % 250}`,
    details: { port: 443, protocol: 'tcp', rule: `rule ${i % 90}` },
  }))
  return rawRequest('POST', '/v1/audit/ingest', { authorization: `Bearer ${secret}` }, JSON.stringify({ events }))
}

/** A table with the columns, indexes and row-level security of the audit log, and a batch of its events to insert. */
const makeEqualTable = (server: Server) =>
  server.withDatabase(async (db) => {
    await db.query(`create table bench_log (like audit_log including all);
      call raise_tenant_wall('bench_log');
      create table bench_batch as select * from audit_log where kind = 'gateway_report.traffic_denied' order by seq limit ${batch};
      grant select on bench_batch to holdfast_app;
      create sequence bench_seq;
      grant usage on bench_seq to holdfast_app`)
  })
const insertBatch = `insert into bench_log select tenant_id, nextval('bench_seq'), gen_random_uuid(), clock_timestamp(), kind, outcome, actor_id, actor_name_key, target_id, target_name_key, source_ip, request_id, record, hash from bench_batch`
