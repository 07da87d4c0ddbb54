import { type ChildProcess, spawn } from 'node:child_process'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { atEnd } from './at-end.ts'
import { asks } from './balancer.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const readyWithinSeconds = 90

export type Replica = ReturnType<typeof createReplica>
type Wanted = {
  name: string
  port: number
  publicUrl: string
  databaseUrl: string
  /** Shared by the replicas; it contains the master key. */
  dataDir: string
  adminPassword: string
  environment?: Record<string, string>
}

/** One server process on a shared database, with a clock that can be set. It exits when this process does. */
export function createReplica(wanted: Wanted) {
  const { name, port, publicUrl, databaseUrl, dataDir, adminPassword } = wanted
  const logFile = join(dataDir, `${name}.log`)
  const clockFile = join(dataDir, `${name}.clock`)
  /** Unrequested exits, and how each happened. */
  const unasked: string[] = []
  let child: ChildProcess | undefined
  let exited: Promise<string> = Promise.resolve('not started')
  let isAsked = false

  const lastOutput = async (length = 3_000) => (await readFile(logFile, 'utf8').catch(() => '')).slice(-length)

  async function launch(): Promise<void> {
    const output = await open(logFile, 'a', 0o600)
    const preload = (path: string) => `--import=${pathToFileURL(join(root, path)).href}`
    const { DATABASE_URL: _, HOLDFAST_PUBLIC_URL: __, ...environment } = process.env
    isAsked = false
    const started = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', join(root, 'scripts/start.mjs')],
      {
        cwd: dataDir,
        stdio: ['ignore', output.fd, output.fd],
        env: {
          ...environment,
          // As if npm had started it: the server then exits with its parent.
          npm_lifecycle_event: 'start',
          NODE_OPTIONS: preload('packages/bench/src/deployment/clock.ts'),
          HOLDFAST_BENCH_CLOCK: clockFile,
          HOLDFAST_DATA_DIR: dataDir,
          HOLDFAST_HOST: '127.0.0.1',
          HOLDFAST_PORT: String(port),
          HOLDFAST_PUBLIC_URL: publicUrl,
          HOLDFAST_ADMIN_PASSWORD: adminPassword,
          HOLDFAST_GATEWAYS_KNOW: 'countries,services',
          HOLDFAST_LOG_LEVEL: 'warn',
          DATABASE_URL: databaseUrl,
          ...wanted.environment,
        },
      },
    )
    child = started
    const forget = atEnd(() => void started.kill('SIGKILL'))
    exited = new Promise((resolve) =>
      started.once('exit', (code, signal) => {
        forget()
        const how = String(signal ?? code)
        if (!isAsked) void lastOutput(300).then((words) => unasked.push(`${how}: ${words}`))
        resolve(how)
      }),
    )
    await output.close()
  }

  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null

  async function awaitReady(seconds = readyWithinSeconds): Promise<number> {
    const started = performance.now()
    while (performance.now() - started < seconds * 1000) {
      if (await asks(port)) return (performance.now() - started) / 1000
      if (!isRunning()) break
      await delay(25)
    }
    throw new Error(`${name} did not become ready within ${seconds} s:\n${await lastOutput()}`)
  }

  return {
    name,
    port,
    logFile,
    unasked,
    isRunning,
    launch,
    awaitReady,
    lastOutput,
    pid: (): number => child?.pid ?? 0,
    start: async (): Promise<number> => {
      await launch()
      return awaitReady()
    },
    /** SIGKILL; settles when it has ended. */
    kill: async (): Promise<void> => {
      isAsked = true
      child?.kill('SIGKILL')
      await exited
    },
    /** SIGTERM. Returns how the process ended: `SIGKILL` if it did not exit in time. */
    terminate: async (withinSeconds = 40): Promise<string> => {
      isAsked = true
      if (!isRunning()) return exited
      child?.kill('SIGTERM')
      const late = setTimeout(() => child?.kill('SIGKILL'), withinSeconds * 1000)
      return exited.finally(() => clearTimeout(late))
    },
    /** Sets the offset of its wall clock. The process notices it after up to a fifth of a second. */
    setClock: (offsetMs: number): Promise<void> => writeFile(clockFile, String(offsetMs)),
  }
}
