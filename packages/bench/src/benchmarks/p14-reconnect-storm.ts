import { bundlePath, deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { pack } from './rig/requests.ts'
import { type Benchmark, milliseconds, verdictOf } from './rig/result.ts'
import { quantile } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { startRig } from './rig/throughput.ts'

const work = 'reconnect storm after a restart'
const stormSeconds = 20

/**
 * P14: after a restart with empty caches, all devices connect at once, poll and fetch their bundle, each with a proof.
 */
export const reconnectStorm: Benchmark = {
  id: 'P14',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const devices = scale.size(100_000)
    const visitors = scale.size(20_000)
    const server = await bench.startServer()
    say(`a fleet of ${devices} devices with keys`)
    const fleet = await seedFleet(server, { devices, directory: true, keys: true })
    const { admin } = await openAdmin(server)
    const policy = largeDocument({ rules: 2000, tests: 10, mark: 1 })
    await admin.publishPolicy({ body: { channel: 'stable', policy } })
    const { load } = startRig(bench)
    const p99s: number[] = []
    const worst: number[] = []
    const statuses: Record<string, number> = {}
    let broken = 0
    let busy = 0
    for (let storm = 0; storm < (scale.quick ? 1 : 3); storm++) {
      say(`storm ${storm + 1}`)
      const requests = pack(
        fleet.devices
          .slice(storm * visitors, (storm + 1) * visitors)
          .flatMap((device) => [deviceGet(fleet, device, digestPath), deviceGet(fleet, device, bundlePath)]),
      )
      await server.restart()
      const done = await load.call('visit', {
        port: server.port,
        requests,
        perVisit: 2,
        perSecond: visitors / stormSeconds,
      })
      p99s.push(quantile(done.latenciesMs, 0.99))
      worst.push(quantile(done.latenciesMs, 1))
      broken += done.broken
      busy = Math.max(busy, done.busy)
      for (const [status, n] of Object.entries(done.statuses)) statuses[status] = (statuses[status] ?? 0) + n
    }
    const refused = Object.entries(statuses).filter(([status]) => status !== '200')
    const p99 = Math.max(...p99s)
    return [
      {
        id: 'P14',
        work: `${work}: ${devices} devices, ${visitors} connect, poll and fetch in ${stormSeconds} s`,
        figure: `p99 ${milliseconds(p99)}`,
        baseline: '–',
        ratio: null,
        target: 'no 5xx, p99 ≤ 500 ms',
        verdict: verdictOf(p99 <= 500 && refused.length === 0 && broken === 0),
        note: `worst of ${p99s.length} storms; slowest answer ${milliseconds(Math.max(...worst))}; ${JSON.stringify(statuses)}, ${broken} broken; load generator busy ${Math.round(busy * 100)} %`,
        rounds: { p99s, worst },
      },
    ]
  },
}
