import { deviceGet, digestPath, type Fleet, seedFleet, variants } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { openPoller } from './rig/poller.ts'
import { pack } from './rig/requests.ts'
import { type Bench, type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { startRig } from './rig/throughput.ts'

const work = 'publish: 2,000 rules, 5,000 tests, 5,000 groups, 500 variants'
/** The large fleet may cost this much more than the small one. */
const growth = 1.2

/** P5 */
export const publish: Benchmark = {
  id: 'P5',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const sizes = { small: scale.size(20_000) / 20, large: scale.size(100_000) }
    const small = await openPublisher(bench, sizes.small)
    const large = await openPublisher(bench, sizes.large)
    say('first publish')
    await small.publish(0)
    await large.publish(0)
    say(work)
    const found = await alternate(scale.rounds, {
      small: async (round) => (await small.publish(round + 1)).first,
      large: async (round) => (await large.publish(round + 1)).first,
    })
    const every = large.everyVariant.slice(1)
    const ratio = medianRatio(found.large, found.small)
    const limit = 1500
    const rows: Row[] = [
      {
        id: 'P5',
        work: `${work}, ${sizes.large} devices: request → new digest readable`,
        figure: milliseconds(median(found.large)),
        baseline: '–',
        ratio: null,
        target: '≤ 1.5 s',
        verdict: verdictOf(median(found.large) <= limit),
        note: `the publish request itself is answered after ${milliseconds(median(large.answered.slice(1)))}`,
        rounds: found,
      },
      {
        id: 'P5',
        work: 'the same until a device of each of the 500 variants has read its new digest',
        figure: milliseconds(median(every)),
        baseline: '–',
        ratio: null,
        target: '≤ 1.5 s',
        verdict: verdictOf(median(every) <= limit),
        rounds: { every },
      },
      {
        id: 'P5',
        work: 'what 100 times the devices add to it',
        figure: milliseconds(median(found.large)),
        baseline: `${milliseconds(median(found.small))} with ${sizes.small} devices`,
        ratio,
        target: `≤ ${growth}`,
        verdict: verdictOf(ratio <= growth),
      },
    ]
    return rows
  },
}

async function openPublisher(bench: Bench, devices: number) {
  bench.say(`a fleet of ${devices} devices`)
  const server = await bench.startServer()
  const fleet: Fleet = await seedFleet(server, { devices, directory: true })
  const { admin } = await openAdmin(server)
  const { load } = startRig(bench)
  // Devices 1, 3, 5, … belong to the users 1, 2, 3, …, and each of these has another variant.
  const oneOfEach = Array.from({ length: variants }, (_, v) => fleet.devices[v * 2 + 1]).filter((d) => d !== undefined)
  const requests = pack(oneOfEach.map((device) => deviceGet(fleet, device, digestPath)))
  const everyVariant: number[] = []
  const answered: number[] = []
  let last = 0
  return {
    everyVariant,
    answered,
    /**
     * Publishes a policy. Measures the milliseconds until the first device, and until one device of every variant, gets
     * it.
     */
    publish: async (mark: number): Promise<{ first: number }> => {
      const policy = largeDocument({ rules: 2000, tests: 5000, mark })
      // A new connection for each publish, since the server closes an idle one.
      const poller = await openPoller(server.port, deviceGet(fleet, fleet.devices[0]!, digestPath))
      const etag = await poller.etag()
      const started = performance.now()
      const published = admin.publishPolicy({ body: { channel: 'stable', policy } })
      const done = published.then((bundle) => {
        answered.push(performance.now() - started)
        return bundle
      })
      const first = (await poller.changedFrom(etag, done)) - started
      poller.end()
      const versions = await load.call('collect', {
        port: server.port,
        connections: 32,
        requests,
        pattern: '"version":(\\d+)',
      })
      everyVariant.push(performance.now() - started)
      const { version } = await done
      const stale = versions.filter((found) => Number(found) !== version).length
      if (stale > 0 || version <= last) throw new Error(`${stale} devices were told of another version than ${version}`)
      last = version
      return { first }
    },
  }
}
