import { loadCore, measuredCore, moveToCores } from './rig/cores.ts'
import type { Load } from './rig/load-process.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, milliseconds, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio, quantile } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'API-key read, its audit event durable before the answer'
const path = '/v1/admin/tokens?limit=20'
const connections = 64

/** P10: the same read by API key, which writes an `api_key.used` event, and by session, which writes none. */
export const auditedRead: Benchmark = {
  id: 'P10',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const { admin, apiKey, cookie } = await openAdmin(server)
    for (let i = 0; i < 20; i++) await admin.generateToken({ body: { name: `token ${i}` } })
    const { load } = startRig(bench)
    const byKey = pack([rawRequest('GET', path, { authorization: `Bearer ${apiKey}` })])
    const bySession = pack([rawRequest('GET', path, { cookie })])
    const loads: Load[] = []
    const side = (requests: typeof byKey) => async () => {
      const done = await load.call('run', { port: server.port, connections, requests, seconds: scale.seconds })
      loads.push(done)
      return rateOf(done, 200)
    }
    say('warming up')
    await side(byKey)()
    await side(bySession)()
    say(work)
    const found = await alternate(scale.rounds, { with: side(byKey), without: side(bySession) })
    const ratio = medianRatio(found.with, found.without)
    const half = median(found.with) / 2
    say('half load')
    // Latency is measured on a server with all cores. On a single core, garbage collection would compete with the
    // requests.
    moveToCores([measuredCore, loadCore], server.pid())
    const p99Of = (requests: typeof byKey) => async () => {
      const target = { port: server.port, connections, requests }
      const done = await load.call('pace', { ...target, seconds: scale.seconds * 2, perSecond: half })
      rateOf(done, 200)
      return quantile(done.latenciesMs, 0.99)
    }
    const waits = await alternate(scale.rounds, { with: p99Of(byKey), without: p99Of(bySession) })
    const p99 = median(waits.with)
    const rows: Row[] = [
      {
        id: 'P10',
        work,
        figure: perSecond(median(found.with)),
        baseline: `${perSecond(median(found.without))} the same read by session, without the event`,
        ratio,
        target: '≥ 0.6',
        verdict: verdictOf(ratio >= 0.6),
        note: `GET ${path}; ${connections} connections; ${busyNote(loads)}`,
        rounds: found,
      },
      {
        id: 'P10',
        work: `the same at half load (${perSecond(half)} arriving): p99`,
        figure: milliseconds(p99),
        baseline: `${milliseconds(median(waits.without))} the same read by session, without the event`,
        ratio: medianRatio(waits.with, waits.without),
        target: '≤ 30 ms',
        verdict: verdictOf(p99 <= 30),
        note: 'latency from when a request fell due, whether or not the server was ready for it; the server on all cores',
        rounds: waits,
      },
    ]
    return rows
  },
}
