import { createCertificateRequest, generateKey, softwareSigner } from '@holdfast/crypto'
import { runByDriver } from './rig/driver-load.ts'
import { seedFleet, uuidOf } from './rig/fleet.ts'
import type { Load } from './rig/load-process.ts'
import { hasPgbench, runPgbench } from './rig/pgbench.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'
import { typeId } from './rig/type-id.ts'

const issue = 'SPC issue, 64 at once'
const validate = 'SPC validate'
const clients = 64
const devices = 2000
const perSecondAhead = 500

/**
 * P8: an SPC is a signature and a row; what stands beside that is the request's own signature, which is verified, its
 * audit event, and who asks. A validation is a signature that is verified, once for each certificate.
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
    let asked = 0

    const issueMany = async (count: number): Promise<number> => {
      const requests: Buffer[] = []
      for (let i = 0; i < count; i++) {
        const body = JSON.stringify({
          csr: await newCsr(),
          device_id: typeId('device', uuidOf('device', asked++ % devices)),
        })
        requests.push(rawRequest('POST', '/v1/spc/issue', { authorization: `Bearer ${apiKey}` }, body))
      }
      const done = await load.call('run', {
        port: server.port,
        connections: clients,
        requests: pack(requests),
        once: true,
      })
      loads.push(done)
      return rateOf(done, 201)
    }
    const insert = async () => {
      await server.withDatabase((db) =>
        db.query(`create table if not exists bench_rows as select * from spcs where false;
          grant insert on bench_rows to holdfast_app`),
      )
      const sql = `insert into bench_rows select s.* from (select * from spcs limit 1) as s`
      const common = { databaseUrl, clients, seconds: scale.seconds }
      const script = [`begin`, `set local holdfast.tenant = '*'`, sql, 'commit']
      if (!hasPgbench()) return runByDriver({ ...common, script: () => script })
      return runPgbench({ ...common, script: `${script.join(';\n')};\n` })
    }
    const validateMany = async (texts: readonly string[]): Promise<number> => {
      const requests = pack(
        texts.map((certificate) =>
          rawRequest(
            'POST',
            '/v1/spc/validate',
            { authorization: `Bearer ${secret}` },
            JSON.stringify({ certificate }),
          ),
        ),
      )
      const done = await load.call('run', { port: server.port, connections: clients, requests, seconds: scale.seconds })
      loads.push(done)
      return rateOf(done, 200)
    }

    say('warming up')
    await issueMany(256)
    say(issue)
    const found = await alternate(scale.rounds, {
      holdfast: () => issueMany(Math.ceil(perSecondAhead * scale.seconds)),
      sign: () => bare.call('sign', { seconds: scale.seconds / 4 }),
      insert,
    })
    const limits = found.sign.map((rate, i) => 1 / (1 / rate + 1 / (found.insert[i] ?? Number.NaN)))
    const issued = medianRatio(found.holdfast, limits)
    const certificatesOf = await server.withDatabase(async (db) => {
      const { rows } = await db.query<{ certificate: string }>('select certificate from spcs limit 4000')
      return rows.map((r) => r.certificate)
    })
    say(validate)
    const judged = await alternate(scale.rounds, {
      holdfast: () => validateMany(certificatesOf),
      verify: () => bare.call('verify', { seconds: scale.seconds / 4 }),
    })
    const validated = medianRatio(judged.holdfast, judged.verify)
    const rows: Row[] = [
      {
        id: 'P8',
        work: issue,
        figure: perSecond(median(found.holdfast)),
        baseline: `${perSecond(median(limits))} = one signature (${perSecond(median(found.sign))}) and one INSERT (${perSecond(median(found.insert))}) after the other`,
        ratio: issued,
        target: '≥ 0.5',
        verdict: verdictOf(issued >= 0.5),
        note: `asked by an API key, every request for a new key; ${busyNote(loads)}`,
        rounds: found,
      },
      {
        id: 'P8',
        work: validate,
        figure: perSecond(median(judged.holdfast)),
        baseline: `${perSecond(median(judged.verify))} bare ES256 verify`,
        ratio: validated,
        target: '≥ 0.6',
        verdict: verdictOf(validated >= 0.6),
        note: `by a gateway, over HTTP, ${certificatesOf.length} certificates again and again; ${busyNote(loads)}`,
        rounds: judged,
      },
    ]
    return rows
  },
}

const newCsr = () => createCertificateRequest(softwareSigner('credential', generateKey('ES256').privateJwk), 'bench')
