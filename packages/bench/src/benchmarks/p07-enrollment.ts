import { createProof } from '@holdfast/crypto/dpop'
import { enrollStatements } from './enroll-statements.ts'
import { makeDeviceKey } from './rig/credentials.ts'
import { runByDriver } from './rig/driver-load.ts'
import type { Load } from './rig/load-process.ts'
import { hasPgbench, runPgbench } from './rig/pgbench.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, perSecond, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'enrollment by token, one tenant, 64 at once'
const path = '/v1/enroll'
const clients = 64

/**
 * P7: every enrollment updates the same two rows, the token's and the tenant's. The server updates them once for all
 * concurrent enrollments; the plain statements update them one enrollment after the other.
 */
export const enrollment: Benchmark = {
  id: 'P7',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const { admin } = await openAdmin(server)
    const { secret: token } = await admin.generateToken({ body: { name: 'bench', max_uses: 0 } })
    const { load } = startRig(bench)
    const tokenRow = await findToken(server)
    const databaseUrl = await server.databaseUrl()
    const loads: Load[] = []

    const holdfast = async (count: number): Promise<number> => {
      const requests = pack(Array.from({ length: count }, (_, i) => enrollRequest(server, token, i)))
      const done = await load.call('run', { port: server.port, connections: clients, requests, once: true })
      loads.push(done)
      return rateOf(done, 201)
    }
    const pgbench = hasPgbench()
    const statements = async (): Promise<number> => {
      const common = { databaseUrl, clients, seconds: scale.seconds }
      if (!pgbench) return runByDriver({ ...common, script: (random) => enrollStatements(tokenRow, String(random)) })
      const lines = enrollStatements(tokenRow, ':r').map(
        (sql) => `${sql.replaceAll(/\s+/g, ' ').replace('; set', ' \\; set')};`,
      )
      return runPgbench({ ...common, script: ['\\set r random(1, 9000000000000000000)', ...lines, ''].join('\n') })
    }
    say('warming up')
    await holdfast(256)
    say(work)
    const each = Math.ceil(1000 * scale.seconds)
    const found = await alternate(scale.rounds, { holdfast: () => holdfast(each), statements })
    const ratio = medianRatio(found.holdfast, found.statements)
    const rate = median(found.holdfast)
    return [
      {
        id: 'P7',
        work,
        figure: perSecond(rate),
        baseline: `${perSecond(median(found.statements))} the same statements by ${pgbench ? 'pgbench' : "Node's driver (no pgbench here)"}`,
        ratio,
        target: '≥ 0.5 and ≥ 500/s',
        verdict: verdictOf(ratio >= 0.5 && rate >= 500),
        note: `device key proven, credential signed, durable; the server commits those that come at once together; ${busyNote(loads)}`,
        rounds: found,
      },
    ]
  },
}

function enrollRequest({ url }: Server, token: string, n: number): Buffer {
  const { privateKey } = makeDeviceKey()
  const dpop = createProof(privateKey, { method: 'POST', url: url + path, accessToken: token, now: new Date() })
  const body = JSON.stringify({ device: { name: `laptop-${n}`, platform: 'linux' } })
  return rawRequest('POST', path, { authorization: `Bearer ${token}`, dpop }, body)
}

async function findToken(server: Server): Promise<{ tenantId: string; tokenId: string }> {
  const { rows } = await server.withDatabase((db) =>
    db.query<{ tenant_id: string; token_id: string }>('select tenant_id, token_id from enrollment_tokens'),
  )
  const [row] = rows
  if (!row) throw new Error('the token is not in the database')
  return { tenantId: row.tenant_id, tokenId: row.token_id }
}
