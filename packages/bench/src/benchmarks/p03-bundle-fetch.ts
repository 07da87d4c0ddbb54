import { compareWithBare } from './p01-digest-poll.ts'
import { bundlePath, seedFleet } from './rig/fleet.ts'
import { plainDocument } from './rig/policies.ts'
import type { Benchmark } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'
import { startRig } from './rig/throughput.ts'

const work = 'bundle fetch, warm, 20 KB variant'
/** Gives an answer of about 20,000 bytes. */
const resources = 100

/** P3 */
export const bundleFetch: Benchmark = {
  id: 'P3',
  work,
  run: async (bench) => {
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 1000 })
    const { admin } = await openAdmin(server)
    await admin.publishPolicy({ body: { channel: 'stable', policy: plainDocument(resources) } })
    return [await compareWithBare(bench, startRig(bench), fleet, { id: 'P3', work, path: bundlePath, headers: {} })]
  },
}
