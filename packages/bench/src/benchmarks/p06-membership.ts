import { deviceGet, digestPath, seedFleet, uuidOf } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { openPoller } from './rig/poller.ts'
import { pack } from './rig/requests.ts'
import { type Benchmark, milliseconds, verdictOf } from './rig/result.ts'
import { median, quantile } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { startRig } from './rig/throughput.ts'
import { typeId } from './rig/type-id.ts'

const work = 'one membership changes → new digest readable'

/** P6: a change of one user's groups reaches that user's device, and no other. */
export const membership: Benchmark = {
  id: 'P6',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const devices = scale.size(100_000)
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices, directory: true })
    const { admin } = await openAdmin(server)
    await admin.publishPolicy({
      body: { channel: 'stable', policy: largeDocument({ rules: 2000, tests: 10, mark: 1 }) },
    })
    const { load } = startRig(bench)
    const requests = pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath)))
    const digests = () =>
      load.call('collect', { port: server.port, connections: 64, requests, pattern: '"digest":"([^"]+)"' })
    const poller = await openPoller(server.port, deviceGet(fleet, fleet.devices[0]!, digestPath))
    bench.defer(async () => poller.end())

    const group_id = typeId('group', uuidOf('group', 1))
    const user = typeId('user', uuidOf('user', 0))
    const change = async (joins: boolean): Promise<number> => {
      const etag = await poller.etag()
      const started = performance.now()
      const group = joins ? { add_members: [user] } : { remove_members: [user] }
      const changed = admin.changeGroup({ body: { operation: 'update', group_id, group } })
      const at = await poller.changedFrom(etag, changed)
      await changed
      return at - started
    }
    say('every device reads its digest')
    const before = await digests()
    say(work)
    const took: number[] = []
    for (let i = 0; i < scale.rounds * 8; i++) took.push(await change(i % 2 === 0))
    await change(true)
    const after = await digests()
    const others = before.filter((digest, i) => i > 0 && digest !== after[i]).length
    const same = before[0] === after[0]
    return [
      {
        id: 'P6',
        work: `${work}, ${devices} devices`,
        figure: milliseconds(median(took)),
        baseline: '–',
        ratio: null,
        target: "≤ 50 ms, nobody else's changes",
        verdict: verdictOf(median(took) <= 50 && others === 0 && !same),
        note: `p95 ${milliseconds(quantile(took, 0.95))} of ${took.length} changes; of ${before.length} devices ${others} others changed`,
        rounds: { took },
      },
    ]
  },
}
