import { connections } from './p01-digest-poll.ts'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { askOnce } from './rig/http-connection.ts'
import type { Load } from './rig/load-process.ts'
import { plainDocument } from './rig/policies.ts'
import { pack, readAnswer } from './rig/requests.ts'
import { type Benchmark, perSecond, verdictOf } from './rig/result.ts'
import { alternate, median } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'digest poll with proof (DPoP, ES256)'
/** Requests signed ahead for a second of load: more than one core can verify. */
const perSecondAhead = 16_000

/** P2: every poll carries a proof of its own; the limit is one answer and one signature check after the other. */
export const digestPollProof: Benchmark = {
  id: 'P2',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 256, keys: true })
    const { admin } = await openAdmin(server)
    await admin.publishPolicy({ body: { channel: 'stable', policy: plainDocument(10) } })
    const { bare, load } = startRig(bench)
    const sign = (count: number) =>
      pack(
        Array.from({ length: count }, (_, i) => deviceGet(fleet, fleet.devices[i % fleet.devices.length]!, digestPath)),
      )
    const ahead = Math.ceil(perSecondAhead * scale.seconds)
    await load.call('run', { port: server.port, connections, requests: sign(4096), once: true })
    const answer = readAnswer((await askOnce(server.port, deviceGet(fleet, fleet.devices[0]!, digestPath))).raw)
    const bareAt = await bare.call('serve', answer)
    const loads: Load[] = []
    const side = (port: number) => async () => {
      const requests = sign(ahead)
      const done = await load.call('run', {
        port,
        connections,
        requests,
        seconds: scale.seconds,
        once: port === server.port,
      })
      loads.push(done)
      return rateOf(done, 200)
    }
    say(work)
    const found = await alternate(scale.rounds, {
      holdfast: side(server.port),
      bare: side(bareAt.port),
      verify: () => bare.call('verify', { seconds: scale.seconds / 2 }),
    })
    const limits = found.bare.map((rate, i) => 1 / (1 / rate + 1 / (found.verify[i] ?? Number.NaN)))
    const ratio = median(found.holdfast.map((rate, i) => rate / (limits[i] ?? Number.NaN)))
    return [
      {
        id: 'P2',
        work,
        figure: perSecond(median(found.holdfast)),
        baseline: `${perSecond(median(limits))} = bare node:http ${perSecond(median(found.bare))} and ES256 verify ${perSecond(median(found.verify))}, one after the other`,
        ratio,
        target: '≥ 0.7',
        verdict: verdictOf(ratio >= 0.7),
        note: `${fleet.devices.length} devices, every proof new; ${busyNote(loads)}`,
        rounds: found,
      },
    ]
  },
}
