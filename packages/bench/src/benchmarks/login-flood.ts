import { changeSecuritySettings } from '@holdfast/sdk'
import { Agent, request } from 'undici'
import { deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { pack } from './rig/requests.ts'
import { type Benchmark, milliseconds, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio, quantile } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'digest polls while 200 sign-ins a second with wrong passwords are offered'
const connections = 64
const loginsPerSecond = 200
const pollsPerSecond = 5000
const sources = 16

/** L1: a flood of sign-ins, each worth a password hash, must not starve the fleet. */
export const loginFlood: Benchmark = {
  id: 'L1',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 1000 })
    const { person } = await openAdmin(server)
    // Else the flood ends at the twentieth failure of each source, without a hash.
    await changeSecuritySettings(person, { login: { max_failures_per_ip: 10_000, lockout_threshold: 1000 } })
    const { load } = startRig(bench)
    const requests = pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath)))
    await load.call('run', { port: server.port, connections, requests, once: true })
    const p99s: { flooded: number[]; quiet: number[] } = { flooded: [], quiet: [] }
    const polls = async (kind: 'flooded' | 'quiet') => {
      const done = await load.call('pace', {
        port: server.port,
        connections,
        requests,
        seconds: scale.seconds,
        perSecond: pollsPerSecond,
      })
      p99s[kind].push(quantile(done.latenciesMs, 0.99))
      return rateOf(done, 200)
    }
    say(work)
    let answered = 0
    const found = await alternate(scale.rounds, {
      flooded: async () => {
        const flood = startFlood(server)
        try {
          return await polls('flooded')
        } finally {
          answered += await flood.stop()
        }
      },
      quiet: () => polls('quiet'),
    })
    const ratio = medianRatio(found.flooded, found.quiet)
    const row: Row = {
      id: 'L1',
      work,
      figure: perSecond(median(found.flooded)),
      baseline: `${perSecond(median(found.quiet))} without the flood, the same ${perSecond(pollsPerSecond)} offered`,
      ratio,
      target: '≥ 0.8',
      verdict: verdictOf(ratio >= 0.8),
      note: `p99 ${milliseconds(median(p99s.flooded))} against ${milliseconds(median(p99s.quiet))}; ${answered} sign-ins were answered, from ${sources} addresses`,
      rounds: found,
    }
    return [row]
  },
}

/** Sends sign-ins from several addresses. `stop` returns the number that was answered. */
function startFlood(server: Server) {
  const agents = Array.from(
    { length: sources },
    (_, i) => new Agent({ localAddress: `127.0.0.${10 + i}`, connections: 64 }),
  )
  const running = new Set<Promise<unknown>>()
  let answered = 0
  let n = 0
  const timer = setInterval(() => {
    const attempt = request(`http://127.0.0.1:${server.port}/admin/login`, {
      method: 'POST',
      dispatcher: agents[n % sources]!,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: `nobody-${n++}`, password: 'wrong password' }),
    })
      .then(async ({ body }) => {
        await body.dump()
        answered++
      })
      .catch(() => {})
      .finally(() => running.delete(attempt))
    running.add(attempt)
  }, 1000 / loginsPerSecond)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(agents.map((agent) => agent.destroy()))
      await Promise.allSettled(running)
      return answered
    },
  }
}
