import { createCertificateRequest, generateKey, softwareSigner } from '@holdfast/crypto'
import { runByDriver } from './rig/driver-load.ts'
import { seedFleet, uuidOf } from './rig/fleet.ts'
import type { Load } from './rig/load-process.ts'
import { hasPgbench, runPgbench } from './rig/pgbench.ts'
import { cpuSeconds } from './rig/process-tree.ts'
import { type Packed, pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, microseconds, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, at, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'
import { typeId } from './rig/type-id.ts'

const issue = 'SPC issue, 64 at once'
const validate = 'SPC validate'
const clients = 64
const devices = 2000
const perSecondAhead = 500

/**
 * P8: issuing an SPC costs a signature and a row. Added to it are the check of the request's own signature, the audit
 * event, and authentication. A validation costs one signature check per certificate.
 */
export const certificates: Benchmark = {
  id: 'P8',
  work: `${issue}; ${validate}`,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    await seedFleet(server, { devices, asking: 0 })
    const { admin, apiKey } = await openAdmin(server)
    const pool = await admin.createGatewayPool({ body: { name: 'bench', region: { code: 'eu' } } })
    const { secret } = await admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name: 'bench' } })
    const { bare, load } = startRig(bench)
    const databaseUrl = await server.databaseUrl()
    const loads: Load[] = []
    const cpu: Record<'issue' | 'insert' | 'validate', number[]> = { issue: [], insert: [], validate: [] }
    /** Returns the rate of some work, and records the CPU time of the server and its PostgreSQL for each item. */
    const counted = async (of: keyof typeof cpu, work: () => Promise<{ rate: number; count: number }>) => {
      const before = cpuSeconds(server.pid())
      const { rate, count } = await work()
      cpu[of].push((cpuSeconds(server.pid()) - before) / count)
      return rate
    }
    const run = async (requests: Packed, status: number, ending: { once: true } | { seconds: number }) => {
      const done = await load.call('run', { port: server.port, connections: clients, requests, ...ending })
      loads.push(done)
      return { rate: rateOf(done, status), count: done.answered }
    }
    let asked = 0

    const issueMany = async (count: number) => {
      const requests: Buffer[] = []
      for (let i = 0; i < count; i++) {
        const body = JSON.stringify({
          csr: await newCsr(),
          device_id: typeId('device', uuidOf('device', asked++ % devices)),
        })
        requests.push(rawRequest('POST', '/v1/spc/issue', { authorization: `Bearer ${apiKey}` }, body))
      }
      return counted('issue', () => run(pack(requests), 201, { once: true }))
    }
    const insert = async () => {
      await server.withDatabase((db) =>
        db.query(`create table if not exists bench_rows as select * from spcs where false;
          grant insert on bench_rows to holdfast_app`),
      )
      const sql = `insert into bench_rows select s.* from (select * from spcs limit 1) as s`
      const common = { databaseUrl, clients, seconds: scale.seconds }
      const script = [`begin`, `set local holdfast.tenant = '*'`, sql, 'commit']
      return counted('insert', async () => {
        const rate = hasPgbench()
          ? await runPgbench({ ...common, script: `${script.join(';\n')};\n` })
          : await runByDriver({ ...common, script: () => script })
        return { rate, count: rate * scale.seconds }
      })
    }
    const validateMany = (texts: readonly string[]) => {
      const headers = { authorization: `Bearer ${secret}` }
      const requests = texts.map((certificate) =>
        rawRequest('POST', '/v1/spc/validate', headers, JSON.stringify({ certificate })),
      )
      return counted('validate', () => run(pack(requests), 200, { seconds: scale.seconds }))
    }

    say('warming up')
    await issueMany(4096)
    const shown = await server.withDatabase(async (db) => {
      const { rows } = await db.query<{ certificate: string }>('select certificate from spcs limit 4000')
      return rows.map((r) => r.certificate)
    })
    for (let i = 0; i < 3; i++) await validateMany(shown)
    for (const warm of Object.values(cpu)) warm.length = 0

    say(issue)
    const found = await alternate(scale.rounds, {
      holdfast: () => issueMany(Math.ceil(perSecondAhead * scale.seconds)),
      sign: () => bare.call('sign', { seconds: scale.seconds / 4 }),
      verifyNew: () => bare.call('verifyNew', { seconds: scale.seconds / 4 }),
      insert,
    })
    const limits = found.sign.map((rate, i) => 1 / (1 / rate + 1 / at(found.insert, i)))
    const limitCpu = found.sign.map((rate, i) => 1 / rate + at(cpu.insert, i))
    const issued = medianRatio(limitCpu, cpu.issue)
    const ofBoth = limitCpu.map((seconds, i) => seconds + 1 / at(found.verifyNew, i))
    say(validate)
    const judged = await alternate(scale.rounds, {
      holdfast: () => validateMany(shown),
      verify: () => bare.call('verify', { seconds: scale.seconds / 4 }),
    })
    const verifyCpu = judged.verify.map((rate) => 1 / rate)
    const validated = medianRatio(verifyCpu, cpu.validate)
    const rows: Row[] = [
      {
        id: 'P8',
        work: `${issue}: CPU time of the server and its PostgreSQL`,
        figure: `${microseconds(median(cpu.issue))} (${perSecond(median(found.holdfast))})`,
        baseline: `${microseconds(median(limitCpu))} = one signature (${perSecond(median(found.sign))}) and one INSERT (${perSecond(median(found.insert))})`,
        ratio: issued,
        target: '≥ 0.5',
        verdict: verdictOf(issued >= 0.5),
        note: `asked by an API key, every request for a new key, whose own signature is verified: with that in the baseline (${microseconds(median(ofBoth))}) ${medianRatio(ofBoth, cpu.issue).toFixed(2)}; ratio of the rates ${medianRatio(found.holdfast, limits).toFixed(2)}; ${busyNote(loads)}`,
        rounds: { ...found, cpuIssue: cpu.issue, cpuInsert: cpu.insert },
      },
      {
        id: 'P8',
        work: `${validate}: CPU time of the server and its PostgreSQL`,
        figure: `${microseconds(median(cpu.validate))} (${perSecond(median(judged.holdfast))})`,
        baseline: `${microseconds(median(verifyCpu))} bare ES256 verify (${perSecond(median(judged.verify))})`,
        ratio: validated,
        target: '≥ 0.6',
        verdict: verdictOf(validated >= 0.6),
        note: `by a gateway, over HTTP, ${shown.length} certificates again and again; ratio of the rates ${medianRatio(judged.holdfast, judged.verify).toFixed(2)}; ${busyNote(loads)}`,
        rounds: { ...judged, cpuValidate: cpu.validate },
      },
    ]
    return rows
  },
}

const newCsr = () => createCertificateRequest(softwareSigner('credential', generateKey('ES256').privateJwk), 'bench')
