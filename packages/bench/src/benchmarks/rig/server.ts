import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Client, changeSecuritySettings, createAdmin, signIn } from '@holdfast/sdk'
import pg from 'pg'
import { freePort } from '../../deployment/ports.ts'
import { unlimited } from '../../deployment/unlimited.ts'
import { measuredCore, moveToCore } from './cores.ts'
import { askOnce } from './http-connection.ts'
import { residentBytes } from './proc.ts'
import { rawRequest } from './requests.ts'

const root = fileURLToPath(new URL('../../../../../', import.meta.url))
/** A million devices are read in a minute, more on a busy machine. */
const readyWithinSeconds = 600
const adminPassword = 'a deployment that is only measured'

export type Server = Awaited<ReturnType<typeof startServer>>

/**
 * The server as operators run it: `main.ts` with its embedded PostgreSQL, on its own data directory. Once it is ready,
 * its process is moved to one core; its PostgreSQL may use all of them. `profileTo` is a folder for a CPU profile of
 * each of its processes.
 */
export async function startServer({
  profileTo,
  environment: more = {},
}: {
  profileTo?: string | undefined
  environment?: Readonly<Record<string, string>>
} = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  // As root, PostgreSQL runs as another account, which has to get there.
  await chmod(dataDir, 0o711)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const logFile = `${dataDir}.log`
  let child: ChildProcess | undefined
  let exited: Promise<unknown> = Promise.resolve()

  const pid = (): number => child?.pid ?? 0
  const lastOutput = async () => (await readFile(logFile, 'utf8').catch(() => '')).slice(-4_000)

  /** Waits until `/readyz` succeeds. Returns the seconds since the start of the process. */
  async function start(): Promise<number> {
    const output = await open(logFile, 'a', 0o600)
    const { DATABASE_URL: _, HOLDFAST_PUBLIC_URL: __, ...environment } = process.env
    const started = performance.now()
    // A profile uses the sources, so that it shows their names and lines.
    const profile = profileTo && [
      '--cpu-prof',
      `--cpu-prof-dir=${profileTo}`,
      join(root, 'packages/server/src/main.ts'),
    ]
    const command = profile ? ['run.mjs', ...profile] : ['start.mjs']
    const [script = '', ...args] = command
    child = spawn(process.execPath, [join(root, 'scripts', script), ...args], {
      cwd: dataDir,
      stdio: ['ignore', output.fd, output.fd],
      env: {
        ...environment,
        // As if npm had started it: the server then exits with its parent.
        npm_lifecycle_event: 'start',
        HOLDFAST_DATA_DIR: dataDir,
        HOLDFAST_HOST: '127.0.0.1',
        HOLDFAST_PORT: String(port),
        HOLDFAST_ADMIN_PASSWORD: adminPassword,
        HOLDFAST_LOG_LEVEL: 'warn',
        ...more,
      },
    })
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    exited = ended
    await output.close()
    while (performance.now() - started < readyWithinSeconds * 1000 && child.exitCode === null) {
      if (await isReady(port)) {
        const seconds = (performance.now() - started) / 1000
        moveToCore(measuredCore, pid())
        return seconds
      }
      await delay(5)
    }
    throw new Error(`the server did not become ready:\n${await lastOutput()}`)
  }

  async function stop(): Promise<void> {
    if (child && child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await exited
  }

  const home = async () => (await readFile(join(dataDir, 'postgres-location'), 'utf8').catch(() => '')).trim()
  /** Superuser on the embedded PostgreSQL: its unix socket, which no password guards. */
  async function databaseUrl(): Promise<string> {
    const socket = join((await home()) || join(dataDir, 'postgres'), 'socket')
    return `postgresql://holdfast@localhost:5432/holdfast?host=${encodeURIComponent(socket)}`
  }

  const firstStartSeconds = await start()
  return {
    url,
    port,
    dataDir,
    firstStartSeconds,
    pid,
    start,
    stop,
    restart: async (): Promise<number> => {
      await stop()
      return start()
    },
    databaseUrl,
    residentBytes: () => residentBytes(pid()),
    /** Runs SQL without the server; its caches do not see the changes until a restart. */
    withDatabase: async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
      const client = new pg.Client({ connectionString: await databaseUrl() })
      await client.connect()
      try {
        return await work(client)
      } finally {
        await client.end()
      }
    },
    /** Stops the server and removes its files. */
    remove: async (): Promise<void> => {
      await stop()
      const elsewhere = await home()
      for (const path of [dataDir, logFile, elsewhere].filter(Boolean))
        await rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
    },
  }
}

export const signInAdmin = ({ url }: Pick<Server, 'url'>) =>
  signIn({ baseUrl: url, username: 'admin', password: adminPassword })

/**
 * A platform administrator with an API key without a rate limit, and the session cookie with which the key was created.
 */
export async function openAdmin({ url }: Server): Promise<{
  admin: Client
  /** The session that created the key. Only it may loosen limits on its own user. */
  person: Client
  apiKey: string
  cookie: string
}> {
  const { client, cookie } = await signInAdmin({ url })
  await changeSecuritySettings(client, { api: unlimited })
  const { secret: apiKey } = await client.createApiKey({ body: { name: 'bench', role: 'platform_admin' } })
  return { admin: createAdmin({ baseUrl: url, apiKey }), person: client, apiKey, cookie }
}

const ready = rawRequest('GET', '/readyz', {})
async function isReady(port: number): Promise<boolean> {
  return askOnce(port, ready).then(
    ({ status }) => status === 200,
    () => false,
  )
}
