import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { createPeppers, mintToken } from '@holdfast/crypto'
import { startHelper } from './rig/calls.ts'
import { loadCore } from './rig/cores.ts'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import type { LoadCalls } from './rig/load-process.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, milliseconds, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio, quantile } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'digest polls while 1,000 forged credentials a second are offered'
const connections = 64
const forgedPerSecond = 1000
const pollsPerSecond = 500

/** L2: requests with forged credentials must not slow down requests with valid ones. */
export const forgedFlood: Benchmark = {
  id: 'L2',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 1000 })
    await openAdmin(server)
    const { load } = startRig(bench)
    const requests = pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath)))
    await load.call('run', { port: server.port, connections, requests, once: true })
    const others = createPeppers([{ key: createSecretKey(randomBytes(32)), isRetired: false }], 1)
    const invented = Array.from({ length: 5000 }, () => mintToken(others, 'hfk', randomUUID()).token)
    const forged = pack(
      invented.map((token) => rawRequest('GET', '/v1/admin/me', { authorization: `Bearer ${token}` })),
    )
    const flood = startHelper<LoadCalls>('load-process.ts', loadCore)
    bench.defer(flood.stop)
    const p99 = async () => {
      const { seconds } = scale
      const paced = { port: server.port, connections, requests, seconds, perSecond: pollsPerSecond }
      const done = await load.call('pace', paced)
      rateOf(done, 200)
      return quantile(done.latenciesMs, 0.99)
    }
    say(work)
    const answers = new Map<string, number>()
    const found = await alternate(scale.rounds, {
      flooded: async () => {
        const target = { port: server.port, connections, requests: forged }
        const flooding = flood.call('pace', { ...target, seconds: scale.seconds + 1, perSecond: forgedPerSecond })
        const found = await p99()
        for (const [status, n] of Object.entries((await flooding).statuses))
          answers.set(status, (answers.get(status) ?? 0) + n)
        return found
      },
      quiet: p99,
    })
    const ratio = medianRatio(found.flooded, found.quiet)
    const row: Row = {
      id: 'L2',
      work,
      figure: `p99 ${milliseconds(median(found.flooded))}`,
      baseline: `p99 ${milliseconds(median(found.quiet))} without them, the same ${perSecond(pollsPerSecond)} offered`,
      ratio,
      target: '≤ 2',
      verdict: verdictOf(ratio <= 2),
      note: `forged ones were answered ${[...answers].map(([status, n]) => `${status}: ${n}`).join(', ')}`,
      rounds: found,
    }
    return [row]
  },
}
