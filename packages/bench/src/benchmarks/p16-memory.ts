import { setTimeout as delay } from 'node:timers/promises'
import { bundlePath, deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { pack } from './rig/requests.ts'
import { type Bench, type Benchmark, megabytes, type Row, verdictOf } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'memory of the server process, warm'
const limit = 400 * 1024 * 1024
/** Proofs expire after a minute: this number is signed and sent before the next are signed. */
const batch = 10_000

const sizes = [1_000, 10_000, 100_000, 1_000_000]
/** Number of devices of a larger fleet that poll and fetch; the others only exist. */
const mostAsking = 100_000
const perDevice = 1.2 * 1024

/**
 * P16: every device has a key and has reported its posture. Each active one polls with a proof and fetches its bundle.
 */
export const memory: Benchmark = {
  id: 'P16',
  work,
  run: async (bench) => {
    const rows: Row[] = []
    for (const full of sizes) rows.push(await measure(bench, bench.scale.size(full)))
    return rows
  },
}

async function measure(bench: Bench, count: number): Promise<Row> {
  const { say } = bench
  const asking = Math.min(count, mostAsking)
  const server = await bench.startServer()
  try {
    const empty = server.residentBytes()
    say(`a fleet of ${count} devices with keys`)
    const fleet = await seedFleet(server, { devices: count, asking, directory: true, keys: true, posture: true })
    const loaded = server.residentBytes()
    const { admin } = await openAdmin(server)
    const policy = largeDocument({ rules: 2000, tests: 10, mark: 1 })
    await admin.publishPolicy({ body: { channel: 'stable', policy } })
    const { load } = startRig(bench)
    let peak = 0
    for (let from = 0; from < asking; from += batch) {
      say(`devices ${from} to ${Math.min(asking, from + batch)} poll and fetch`)
      const some = fleet.devices.slice(from, from + batch)
      for (const path of [digestPath, bundlePath]) {
        const requests = pack(some.map((device) => deviceGet(fleet, device, path)))
        rateOf(await load.call('run', { port: server.port, connections: 64, requests, once: true }), 200)
        peak = Math.max(peak, server.residentBytes())
      }
    }
    await delay(10_000)
    const warm = server.residentBytes()
    const each = (warm - empty) / count
    const isLarge = count > mostAsking
    return {
      id: 'P16',
      work: `${work}, ${count.toLocaleString('en')} devices`,
      figure: `${megabytes(warm)}, ${(each / 1024).toFixed(2)} KB a device beyond the empty server`,
      baseline: '–',
      ratio: null,
      target: isLarge ? '≤ 1.2 KB a device' : '≤ 400 MB RSS',
      verdict: verdictOf(isLarge ? each <= perDevice : warm <= limit),
      note: `${megabytes(empty)} after the first start, ${megabytes(loaded)} with the fleet read, ${megabytes(peak)} at most; ${asking.toLocaleString('en')} of them asked; PostgreSQL not counted`,
      rounds: { empty: [empty], loaded: [loaded], peak: [peak], warm: [warm] },
    }
  } finally {
    await server.remove()
  }
}
