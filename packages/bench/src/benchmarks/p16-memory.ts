import { setTimeout as delay } from 'node:timers/promises'
import { bundlePath, deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { pack } from './rig/requests.ts'
import { type Benchmark, megabytes, verdictOf } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'memory of the server process, warm'
const limit = 400 * 1024 * 1024
/** Proofs are good for a minute: so many are signed and sent before the next are signed. */
const batch = 10_000

/** P16: every device has reported its posture, polled with a proof and fetched its bundle. */
export const memory: Benchmark = {
  id: 'P16',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const count = scale.size(100_000)
    const server = await bench.startServer()
    const empty = server.residentBytes()
    say(`a fleet of ${count} devices with keys`)
    const fleet = await seedFleet(server, { devices: count, directory: true, keys: true, posture: true })
    const loaded = server.residentBytes()
    const { admin } = await openAdmin(server)
    const policy = largeDocument({ rules: 2000, tests: 10, mark: 1 })
    await admin.publishPolicy({ body: { channel: 'stable', policy } })
    const { load } = startRig(bench)
    let peak = 0
    for (let from = 0; from < count; from += batch) {
      say(`devices ${from} to ${Math.min(count, from + batch)} poll and fetch`)
      const some = fleet.devices.slice(from, from + batch)
      for (const path of [digestPath, bundlePath]) {
        const requests = pack(some.map((device) => deviceGet(fleet, device, path)))
        rateOf(await load.call('run', { port: server.port, connections: 64, requests, once: true }), 200)
        peak = Math.max(peak, server.residentBytes())
      }
    }
    await delay(10_000)
    const warm = server.residentBytes()
    return [
      {
        id: 'P16',
        work: `${work}, ${count} devices`,
        figure: megabytes(warm),
        baseline: '–',
        ratio: null,
        target: '≤ 400 MB RSS',
        verdict: verdictOf(warm <= limit),
        note: `${megabytes(empty)} after the first start, ${megabytes(loaded)} with the fleet read, ${megabytes(peak)} at most; PostgreSQL not counted`,
        rounds: { empty: [empty], loaded: [loaded], peak: [peak], warm: [warm] },
      },
    ]
  },
}
