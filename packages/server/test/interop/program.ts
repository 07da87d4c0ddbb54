import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Signals that end the tests. They must also end the program, which is in its own process group. */
const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** An external server: its command, its log file, and a check that it answers. */
type Program = {
  name: string
  command: string
  args: readonly string[]
  env?: Record<string, string>
  log: string
  answers: () => Promise<boolean>
  /** Start-up limit in ms, long enough for a busy machine. */
  startsWithinMs: number
}

export function createProgram({ name, command, args, env = {}, log, answers, startsWithinMs }: Program) {
  let server: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()

  const signal = (name: 'SIGTERM' | 'SIGKILL') => {
    try {
      if (server?.pid !== undefined) process.kill(-server.pid, name)
    } catch {}
  }
  const kill = () => signal('SIGKILL')
  const killAndEnd = () => {
    kill()
    process.exit(1)
  }
  async function stop(): Promise<void> {
    signal('SIGTERM')
    const patience = setTimeout(kill, 20_000)
    await ended
    clearTimeout(patience)
    // Processes that its launcher may have left behind.
    kill()
    process.off('exit', kill)
    for (const name of ends) process.off(name, killAndEnd)
    server = undefined
  }
  async function start(): Promise<void> {
    const output = openSync(log, 'a')
    const started = spawn(command, args, {
      detached: true,
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    })
    server = started
    let isRunning = true
    ended = new Promise((resolve) => started.once('exit', resolve).once('error', resolve)).then(() => {
      isRunning = false
    })
    process.once('exit', kill)
    for (const name of ends) process.once(name, killAndEnd)
    const giveUp = performance.now() + startsWithinMs
    while (!(await answers())) {
      if (!isRunning || performance.now() > giveUp)
        throw new Error(`${name} ${isRunning ? 'does not answer' : 'has ended'}:\n${readFileSync(log, 'utf8')}`)
      await delay(500)
    }
  }
  return { start, stop }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
