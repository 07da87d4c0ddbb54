import { deviceGet, digestPath, type Fleet, seedFleet } from './rig/fleet.ts'
import { askOnce } from './rig/http-connection.ts'
import type { Load } from './rig/load-process.ts'
import { plainDocument } from './rig/policies.ts'
import { headerOf, pack, readAnswer } from './rig/requests.ts'
import { type Bench, type Benchmark, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, type Rig, rateOf, startRig } from './rig/throughput.ts'

const work = 'digest poll, warm, keyless credential'
export const connections = 64

/** P1: the poll that every device sends every few seconds, without a change and with one. */
export const digestPoll: Benchmark = {
  id: 'P1',
  work,
  run: async (bench) => {
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 1000 })
    const { admin } = await openAdmin(server)
    await admin.publishPolicy({ body: { channel: 'stable', policy: plainDocument(10) } })
    const rig = startRig(bench)
    const rows: Row[] = []
    const first = await askOnce(server.port, deviceGet(fleet, fleet.devices[0]!, digestPath))
    const etag = headerOf(readAnswer(first.raw), 'etag') ?? ''
    rows.push(
      await compareWithBare(bench, rig, fleet, { id: 'P1', work: `${work}, 200`, path: digestPath, headers: {} }),
    )
    const held = { 'if-none-match': etag }
    rows.push(
      await compareWithBare(bench, rig, fleet, { id: 'P1', work: `${work}, 304`, path: digestPath, headers: held }),
    )
    return rows
  },
}

/**
 * Compares the answers per second to a GET by all devices in turn with those of bare `node:http`, which sends the same
 * bytes.
 */
export async function compareWithBare(
  { scale, say }: Bench,
  { bare, load }: Rig,
  fleet: Fleet,
  ask: { id: string; work: string; path: string; headers: Record<string, string> },
): Promise<Row> {
  const { port } = fleet.server
  const all = fleet.devices.map((device) => deviceGet(fleet, device, ask.path, ask.headers))
  const requests = pack(all)
  await load.call('run', { port, connections, requests, once: true })
  const answer = readAnswer((await askOnce(port, all[0]!)).raw)
  const bareAt = await bare.call('serve', answer)
  const loads: Load[] = []
  const side = (at: number) => async () => {
    const done = await load.call('run', { port: at, connections, requests, seconds: scale.seconds })
    loads.push(done)
    return rateOf(done, answer.status)
  }
  say(ask.work)
  const found = await alternate(scale.rounds, { holdfast: side(port), bare: side(bareAt.port) })
  const ratio = medianRatio(found.holdfast, found.bare)
  return {
    id: ask.id,
    work: ask.work,
    figure: perSecond(median(found.holdfast)),
    baseline: `${perSecond(median(found.bare))} bare node:http, same bytes`,
    ratio,
    target: '≥ 0.7',
    verdict: verdictOf(ratio >= 0.7),
    note: `${answer.body.length} bytes of body; ${connections} connections; ${busyNote(loads)}`,
    rounds: found,
  }
}
