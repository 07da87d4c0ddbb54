import { seedFleet } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'

const work = 'start to /readyz'

/** P15: with its own PostgreSQL, from the process's start. */
export const starting: Benchmark = {
  id: 'P15',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const devices = scale.size(100_000)
    const first: number[] = []
    const empty: number[] = []
    for (let i = 0; i < scale.rounds; i++) {
      say(`first start ${i + 1}`)
      const server = await bench.startServer()
      first.push(server.firstStartSeconds)
      empty.push(await server.restart())
      await server.remove()
    }
    const server = await bench.startServer()
    await seedFleet(server, { devices, directory: true, posture: true })
    const { admin } = await openAdmin(server)
    const policy = largeDocument({ rules: 2000, tests: 10, mark: 1 })
    await admin.publishPolicy({ body: { channel: 'stable', policy } })
    const full: number[] = []
    for (let i = 0; i < scale.rounds; i++) {
      say(`start with ${devices} devices ${i + 1}`)
      full.push(await server.restart())
    }
    const row = (what: string, seconds: number[], limit: number, note: string): Row => ({
      id: 'P15',
      work: `${what} → /readyz`,
      figure: milliseconds(median(seconds) * 1000),
      baseline: '–',
      ratio: null,
      target: `≤ ${limit} s`,
      verdict: verdictOf(median(seconds) <= limit),
      note,
      rounds: { seconds },
    })
    return [
      row('warm start, no devices', empty, 1.5, 'the second start on a data directory'),
      row(`warm start, ${devices} devices`, full, 3, 'with users, 5,000 groups, posture reports and 2,000 rules'),
      row(
        'first start on an empty data directory',
        first,
        5,
        'creates the database, the keys and the first administrator',
      ),
    ]
  },
}
