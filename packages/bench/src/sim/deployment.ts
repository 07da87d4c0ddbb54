import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { request } from 'undici'
import { freePort } from '../deployment/ports.ts'
import { within } from './in-parallel.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const readyWithinSeconds = 60
const stopWithinSeconds = 45

export const adminPassword = 'a fleet that is only simulated'

/** A server of our own on a data directory of its own, reached on loopback only. */
export type Served = {
  url: string
  /** The ports of its replicas; empty if there is only the one of the URL. */
  ports: readonly number[]
  dataDir: string
  /** Starts it and settles when it is ready: seconds that took. */
  start: () => Promise<number>
  /** Stops it in order and removes its data unless they are to be kept. */
  remove: (options: { keep: boolean }) => Promise<void>
  /** The end of its log. */
  lastOutput: () => Promise<string>
}
export type Deployment = Served & {
  /** SIGKILL, to the process alone or to its whole group; settles when it has ended. */
  kill: (whole: boolean) => Promise<void>
}

export async function createDeployment(): Promise<Deployment> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-sim-'))
  // As root, PostgreSQL runs under another account, and keeps its files elsewhere if that account can't reach this
  // folder.
  await chmod(dataDir, 0o711)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const logFile = `${dataDir}.log`
  let child: ChildProcess | undefined
  let isRemoved = false
  let exited: Promise<string> = Promise.resolve('not started')

  async function start(): Promise<number> {
    if (isRemoved) throw new Error('the deployment was removed')
    const started = performance.now()
    const output = await open(logFile, 'a', 0o600)
    const lifeline = pathToFileURL(join(root, 'scripts/lifeline.mjs')).href
    const main = join(root, 'packages/server/src/main.ts')
    const { DATABASE_URL: _, HOLDFAST_PUBLIC_URL: __, ...environment } = process.env
    child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', `--import=${lifeline}`, main], {
      cwd: dataDir,
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
      env: {
        ...environment,
        HOLDFAST_PARENT_PID: String(process.pid),
        HOLDFAST_DATA_DIR: dataDir,
        HOLDFAST_HOST: '127.0.0.1',
        HOLDFAST_PORT: String(port),
        HOLDFAST_ADMIN_PASSWORD: adminPassword,
        // The whole fleet uses one address.
        HOLDFAST_AUTH_FAILURES_PER_MINUTE: '1000000',
        HOLDFAST_GATEWAYS_KNOW: 'countries,services',
        HOLDFAST_LOG_LEVEL: 'warn',
      },
    })
    exited = new Promise((resolve) => child?.once('exit', (code, signal) => resolve(String(signal ?? code))))
    await output.close()
    let over = false
    void exited.then(() => {
      over = true
    })
    while (!over && performance.now() - started < readyWithinSeconds * 1000) {
      if (await isReady(url)) return (performance.now() - started) / 1000
      await delay(50)
    }
    throw new Error(`the server did not become ready:\n${await lastOutput()}`)
  }

  const lastOutput = async () => (await readFile(logFile, 'utf8').catch(() => '')).slice(-4_000)

  return {
    url,
    ports: [],
    dataDir,
    start,
    lastOutput,
    kill: async (whole) => {
      if (!child?.pid) return
      process.kill(whole ? -child.pid : child.pid, 'SIGKILL')
      await exited
    },
    remove: async ({ keep }) => {
      isRemoved = true
      if (child?.pid && child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        if ((await within(stopWithinSeconds, exited)) === undefined) {
          child.kill('SIGKILL')
          await exited
        }
      }
      if (keep) return
      await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
      await rm(logFile, { force: true })
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${url}/readyz`, { headersTimeout: 2_000, bodyTimeout: 2_000 })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}
