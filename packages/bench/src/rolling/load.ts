import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export type Ask = {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
  expect: readonly number[]
  /** It asks to wait for a change: how long its answer takes says nothing. */
  isHeld?: boolean
}
/** What was answered otherwise than it must be, or not at all. */
type Failure = { what: string; at: number }

/** Until the whole rate is sent: processes that were just started are slow for their first seconds. */
const rampSeconds = 8

/**
 * Sends requests at a rate that it comes to in steps, whatever the servers do, on keep-alive connections as a program
 * with a pool of them does: a connection that was told to close is not used again, and nothing is ever sent a second
 * time.
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
    /** Sends no more; settles when all is answered. */
    stop: async (): Promise<void> => {
      isOver = true
      await running
      agent.destroy()
    },
  }
}
