import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export type Ask = {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
  expect: readonly number[]
  /** True for a request that waits for a change: its latency means nothing. */
  isHeld?: boolean
}
/** An answer other than the expected one, or a missing answer. */
type Failure = { what: string; at: number }

/** Seconds until the full rate is reached; new processes are slow for their first seconds. */
const rampSeconds = 8

/**
 * Sends requests at a rate that rises gradually to `perSecond`, however fast the servers answer. It uses keep-alive
 * connections from a pool, as a program would: a connection that the server closes is not used again, and no request is
 * ever repeated.
 */
export function startLoad(url: string, perSecond: number, next: () => Ask) {
  const agent = new Agent({ keepAlive: true, maxSockets: 600, scheduling: 'fifo' })
  const { hostname, port } = new URL(url)
  const failures: Failure[] = []
  const latencies: number[] = []
  const open = new Set<Promise<void>>()
  let sent = 0
  let reused = 0
  let isOver = false

  const ask = ({ method, path, headers, body, expect, isHeld }: Ask): Promise<void> =>
    new Promise((resolve) => {
      const started = performance.now()
      const name = `${method} ${path.split('?')[0]}`
      const fail = (why: string) => {
        failures.push({ what: `${name}: ${why}`, at: started })
        resolve()
      }
      const sending = request(
        { agent, hostname, port, method, path, headers: { ...headers, host: `${hostname}:${port}` } },
        (response) => {
          response.resume()
          response.once('end', () => {
            if (sending.reusedSocket) reused++
            if (!isHeld) latencies.push(performance.now() - started)
            if (!expect.includes(response.statusCode ?? 0)) fail(`answered ${response.statusCode}`)
            else resolve()
          })
          response.once('error', (e) => fail(`the answer broke off (${e.message})`))
        },
      )
      sending.setTimeout(75_000, () => sending.destroy(new Error('no answer in 75 s')))
      sending.once('error', (e: NodeJS.ErrnoException) =>
        fail(`${e.code ?? e.message}${sending.reusedSocket ? ' on a connection used before' : ''}`),
      )
      sending.end(body)
    })

  const running = (async () => {
    const started = performance.now()
    for (let due = 0; !isOver; await delay(2)) {
      const seconds = (performance.now() - started) / 1000
      const ramping = Math.min(seconds, rampSeconds)
      due = (ramping ** 2 / (2 * rampSeconds) + (seconds - ramping)) * perSecond
      for (; sent < due && !isOver; sent++) {
        const one: Promise<void> = ask(next()).finally(() => open.delete(one))
        open.add(one)
      }
    }
    await Promise.all(open)
  })()

  return {
    failures,
    latencies,
    sent: () => sent,
    reused: () => reused,
    open: () => open.size,
    /** Stops sending; settles when all requests are answered. */
    stop: async (): Promise<void> => {
      isOver = true
      await running
      agent.destroy()
    },
  }
}
