import { setTimeout as delay } from 'node:timers/promises'
import { startHelper } from './rig/calls.ts'
import { loadCore } from './rig/cores.ts'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import type { LoadCalls } from './rig/load-process.ts'
import { plainDocument } from './rig/policies.ts'
import { openPoller } from './rig/poller.ts'
import { residentBytes } from './rig/proc.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { startRig } from './rig/throughput.ts'

const work = '15,000 waiters: publish → last one answered'
const clock = () => Number(process.hrtime.bigint()) / 1e6

/** P4: all devices wait for the next policy (`Prefer: wait`), and get it at once. */
export const waiters: Benchmark = {
  id: 'P4',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const count = scale.size(15_000)
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: count })
    const { admin } = await openAdmin(server)
    const publish = (mark: number) =>
      admin.publishPolicy({ body: { channel: 'stable', policy: plainDocument(10, mark) } })
    await publish(0)
    const poller = await openPoller(server.port, deviceGet(fleet, fleet.devices[0]!, digestPath))
    const { bare, load: loadBare } = startRig(bench)
    const load = startHelper<LoadCalls>('load-process.ts', loadCore)
    bench.defer(load.stop)

    const wait = async () => {
      const headers = { 'if-none-match': await poller.etag(), prefer: 'wait=55' }
      return pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath, headers)))
    }
    const connections = (port: number) => ({ port, connections: count, requests: pack([]) })
    const answer = await poller.ask()
    const bareAt = await bare.call('serve', answer)

    say('filling both with waiters for the first time, to see what they weigh')
    const before = { server: server.residentBytes(), bare: residentBytes(bare.pid) }
    await load.call('connect', connections(server.port))
    await loadBare.call('connect', connections(bareAt.port))
    const rss = { server: 0, bare: 0 }

    const holdfast = async (round: number): Promise<number> => {
      await load.call('ask', { requests: await wait() })
      await settled(poller.ask)
      if (round === 0) rss.server = (server.residentBytes() - before.server) / count
      const started = clock()
      const published = publish(round + 1)
      const last = only200(await load.call('released', null), count)
      await published
      return last - started
    }
    const broadcast = async (round: number): Promise<number> => {
      await loadBare.call('ask', { requests: pack([rawRequest('GET', '/held', {})]) })
      while ((await bare.call('held', null)) < count) await delay(20)
      if (round === 0) rss.bare = (residentBytes(bare.pid) - before.bare) / count
      const started = clock()
      await bare.call('broadcast', null)
      return only200(await loadBare.call('released', null), count) - started
    }
    say(work)
    const found = await alternate(scale.rounds, { holdfast, bare: broadcast })
    poller.end()
    const ratio = medianRatio(found.holdfast, found.bare)
    const rows: Row[] = [
      {
        id: 'P4',
        work,
        figure: milliseconds(median(found.holdfast)),
        baseline: `${milliseconds(median(found.bare))} one broadcast by bare node:http, same bytes`,
        ratio,
        target: '≤ 2.5',
        verdict: verdictOf(ratio <= 2.5),
        note: `${count} waiters, a connection and a device each; from sending the publish request`,
        rounds: found,
      },
      {
        id: 'P4',
        work: 'memory per waiter, its connection included',
        figure: `${(rss.server / 1024).toFixed(1)} KB`,
        baseline: `${(rss.bare / 1024).toFixed(1)} KB bare node:http`,
        ratio: rss.server / rss.bare,
        target: '≤ 25 KB',
        verdict: verdictOf(rss.server <= 25 * 1024),
        note: 'RSS of the process with all waiting, less RSS before they connected',
      },
    ]
    return rows
  },
}

/** Waits until three polls in a row are answered quickly: the server has then finished all earlier work. */
async function settled(ask: () => Promise<unknown>): Promise<void> {
  for (let quick = 0; quick < 3; ) {
    await delay(200)
    const started = performance.now()
    await ask()
    quick = performance.now() - started < 10 ? quick + 1 : 0
  }
}

function only200({ lastAt, statuses }: { lastAt: number; statuses: Record<number, number> }, count: number): number {
  if (statuses[200] !== count) throw new Error(`expected ${count} answers 200, got ${JSON.stringify(statuses)}`)
  return lastAt
}
