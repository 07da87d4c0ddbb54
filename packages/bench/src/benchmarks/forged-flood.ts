import { randomBytes, randomUUID } from 'node:crypto'
import { mintToken } from '@holdfast/crypto'
import { Agent, request } from 'undici'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { pack } from './rig/requests.ts'
import { type Benchmark, milliseconds, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio, quantile } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'digest polls while 1,000 forged credentials a second are offered'
const connections = 64
const forgedPerSecond = 1000
const pollsPerSecond = 500
const everyMs = 5

/** L2: whoever invents credentials must not slow down those who have one. */
export const forgedFlood: Benchmark = {
  id: 'L2',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 1000 })
    await openAdmin(server)
    const { load } = startRig(bench)
    const requests = pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath)))
    await load.call('run', { port: server.port, connections, requests, once: true })
    const forged = Array.from({ length: 5000 }, () => mintToken(randomBytes(32), 'hfk', randomUUID()).token)
    const p99 = async () => {
      const { seconds } = scale
      const paced = { port: server.port, connections, requests, seconds, perSecond: pollsPerSecond }
      const done = await load.call('pace', paced)
      rateOf(done, 200)
      return quantile(done.latenciesMs, 0.99)
    }
    say(work)
    const answers = new Map<number, number>()
    const found = await alternate(scale.rounds, {
      flooded: async () => {
        const flood = startFlood(server, forged, answers)
        try {
          return await p99()
        } finally {
          await flood.stop()
        }
      },
      quiet: p99,
    })
    const ratio = medianRatio(found.flooded, found.quiet)
    const row: Row = {
      id: 'L2',
      work,
      figure: `p99 ${milliseconds(median(found.flooded))}`,
      baseline: `p99 ${milliseconds(median(found.quiet))} without them, the same ${perSecond(pollsPerSecond)} offered`,
      ratio,
      target: '≤ 2',
      verdict: verdictOf(ratio <= 2),
      note: `forged ones were answered ${[...answers].map(([status, n]) => `${status}: ${n}`).join(', ')}`,
      rounds: found,
    }
    return [row]
  },
}

function startFlood(server: Server, forged: readonly string[], answers: Map<number, number>) {
  const agent = new Agent({ connections: 64 })
  const running = new Set<Promise<unknown>>()
  let n = 0
  const one = () => {
    const attempt = request(`http://127.0.0.1:${server.port}/v1/admin/me`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${forged[n++ % forged.length]}` },
    })
      .then(async ({ statusCode, body }) => {
        await body.dump()
        answers.set(statusCode, (answers.get(statusCode) ?? 0) + 1)
      })
      .catch(() => {})
      .finally(() => running.delete(attempt))
    running.add(attempt)
  }
  const timer = setInterval(() => {
    for (let i = 0; i < (forgedPerSecond * everyMs) / 1000; i++) one()
  }, everyMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await agent.destroy()
      await Promise.allSettled(running)
    },
  }
}
