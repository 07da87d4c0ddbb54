import { setTimeout as delay } from 'node:timers/promises'
import { cpuSeconds, postgresCpuSeconds } from './process-tree.ts'
import type { Server } from './server.ts'

const clock = () => Number(process.hrtime.bigint()) / 1e6

/** Measures the CPU use of an idle server in milliseconds per second: with its PostgreSQL, and of PostgreSQL alone. */
export async function idleRate(server: Server, seconds: number): Promise<{ all: number; postgres: number }> {
  const before = { all: cpuSeconds(server.pid()), postgres: postgresCpuSeconds(server.pid()) }
  const started = clock()
  await delay(seconds * 1000)
  const perSecond = (from: number, to: number) => ((to - from) * 1_000_000) / (clock() - started)
  return {
    all: perSecond(before.all, cpuSeconds(server.pid())),
    postgres: perSecond(before.postgres, postgresCpuSeconds(server.pid())),
  }
}
