import { setTimeout as delay } from 'node:timers/promises'
import { connections } from './p01-digest-poll.ts'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { plainDocument } from './rig/policies.ts'
import { ownCpuSeconds } from './rig/process-tree.ts'
import { pack } from './rig/requests.ts'
import { type Bench, type Benchmark, megabytes, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'CPU time per poll as the fleet grows'
const sizes = [1_000, 10_000, 100_000, 1_000_000]
/** Number of devices that poll in turn: more than any processor cache holds. */
const mostAsking = 100_000

/**
 * P19: the cost of a poll does not depend on the size of the fleet. Without keys, so that signatures are not measured.
 */
export const pollCost: Benchmark = {
  id: 'P19',
  work,
  run: async (bench) => {
    const rows: Row[] = []
    let smallest = Number.NaN
    for (const full of sizes) {
      const found = await measure(bench, bench.scale.size(full))
      const microseconds = median(found.each) * 1e6
      if (Number.isNaN(smallest)) smallest = microseconds
      const ratio = microseconds / smallest
      rows.push({
        id: 'P19',
        work: `${work}: ${bench.scale.size(full).toLocaleString('en')} devices`,
        figure: `${microseconds.toFixed(1)} µs`,
        baseline: `${smallest.toFixed(1)} µs at the smallest`,
        ratio,
        target: '≤ 1.2',
        verdict: verdictOf(ratio <= 1.2),
        note: `the server holds ${megabytes(found.bytes)}; ready ${found.startSeconds.toFixed(1)} s after its start`,
        rounds: { seconds: found.each },
      })
    }
    return rows
  },
}

async function measure(bench: Bench, devices: number) {
  const { scale, say } = bench
  say(`${devices} devices`)
  const server = await bench.startServer()
  try {
    const fleet = await seedFleet(server, { devices, asking: Math.min(devices, mostAsking) })
    const { admin } = await openAdmin(server)
    await admin.publishPolicy({ body: { channel: 'stable', policy: plainDocument(10) } })
    const startSeconds = await server.restart()
    const { load } = startRig(bench)
    const requests = pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath)))
    rateOf(await load.call('run', { port: server.port, connections, requests, once: true }), 200)
    await delay(2_000)
    const each: number[] = []
    for (let round = 0; round < scale.rounds; round++) {
      const before = ownCpuSeconds(server.pid())
      const done = await load.call('run', { port: server.port, connections, requests, seconds: scale.seconds })
      rateOf(done, 200)
      each.push((ownCpuSeconds(server.pid()) - before) / done.answered)
    }
    return { each, bytes: server.residentBytes(), startSeconds }
  } finally {
    await server.remove()
  }
}
