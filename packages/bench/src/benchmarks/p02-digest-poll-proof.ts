import { connections } from './p01-digest-poll.ts'
import { loadCore, measuredCore, moveToCore, moveToCores } from './rig/cores.ts'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { askOnce } from './rig/http-connection.ts'
import type { Load } from './rig/load-process.ts'
import { plainDocument } from './rig/policies.ts'
import { ownCpuSeconds } from './rig/process-tree.ts'
import { pack, readAnswer } from './rig/requests.ts'
import { type Benchmark, microseconds, perSecond, verdictOf } from './rig/result.ts'
import { alternate, at, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'digest poll with proof (DPoP, ES256)'
/** Requests signed ahead for a second of load: more than one core can verify. */
const perSecondAhead = 16_000

/** P2: every poll carries its own proof. The limit is one answer plus one signature check. */
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
    const cpu: Record<'holdfast' | 'bare' | 'both', number[]> = { holdfast: [], bare: [], both: [] }
    const side = (name: keyof typeof cpu, port: number, pid: () => number) => async () => {
      const requests = sign(ahead)
      const before = ownCpuSeconds(pid())
      const done = await load.call('run', {
        port,
        connections,
        requests,
        seconds: scale.seconds,
        once: port === server.port,
      })
      cpu[name].push((ownCpuSeconds(pid()) - before) / done.answered)
      loads.push(done)
      return rateOf(done, 200)
    }
    const both = async () => {
      moveToCores([measuredCore, loadCore], server.pid())
      try {
        return await side('both', server.port, server.pid)()
      } finally {
        moveToCore(measuredCore, server.pid())
      }
    }
    say(work)
    const found = await alternate(scale.rounds, {
      holdfast: side('holdfast', server.port, server.pid),
      bare: side('bare', bareAt.port, () => bare.pid),
      verify: () => bare.call('verify', { seconds: scale.seconds / 2 }),
      both,
    })
    const limits = found.bare.map((rate, i) => 1 / (1 / rate + 1 / at(found.verify, i)))
    const limitCpu = cpu.bare.map((seconds, i) => seconds + 1 / at(found.verify, i))
    const ratio = medianRatio(limitCpu, cpu.holdfast)
    const spread = medianRatio(found.both, limits)
    const note = `${fleet.devices.length} devices, every proof new; ${busyNote(loads)}`
    const rounds = { ...found, cpuHoldfast: cpu.holdfast, cpuBare: cpu.bare, cpuBoth: cpu.both }
    return [
      {
        id: 'P2',
        work: `${work}: CPU time of the server, one core`,
        figure: `${microseconds(median(cpu.holdfast))} (${perSecond(median(found.holdfast))})`,
        baseline: `${microseconds(median(limitCpu))} = bare node:http ${microseconds(median(cpu.bare))} and one ES256 verify (${perSecond(median(limits))})`,
        ratio,
        target: '≥ 0.7',
        verdict: verdictOf(ratio >= 0.7),
        note: `${note}; ratio of the rates ${medianRatio(found.holdfast, limits).toFixed(2)}`,
        rounds,
      },
      {
        id: 'P2',
        work: `${work}: rate on two cores, one of them shared with the load`,
        figure: `${perSecond(median(found.both))} (${microseconds(median(cpu.both))} of CPU each)`,
        baseline: `${perSecond(median(limits))}, the limit of one core`,
        ratio: spread,
        target: '≥ 1.5',
        verdict: verdictOf(spread >= 1.5),
        note,
        rounds,
      },
    ]
  },
}
