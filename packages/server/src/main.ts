import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { collectWhenIdle } from './app/collect-when-idle.ts'
import { checkFiles } from './config/check-files.ts'
import { type Config, ConfigError, parseConfig } from './config/config.ts'
import { readEnv, type Variable } from './config/env.ts'
import { givenSecrets, loadSecrets } from './config/secrets.ts'
import { shown, wrongSetting } from './config/wrong-setting.ts'
import { databaseLocks } from './db/advisory-locks.ts'
import { checkServer, UnsuitableDatabaseError } from './db/check-server.ts'
import { explainDatabaseError } from './db/explain-error.ts'
import { configureKept } from './db/kept.ts'
import { withDatabaseLock } from './db/lock.ts'
import { MigrationError, migrate } from './db/migrate.ts'
import { retryWhileUnavailable } from './db/unavailable.ts'
import { EmbeddedPostgresError, startEmbeddedPostgres } from './embedded/postgres.ts'
import { MasterKeyError, masterKeysInUse, openPeppers, type Peppers } from './modules/secrets/index.ts'
import { createWaitingNotice, printFirstStart, printReady } from './terminal.ts'

/** Limit of a stop in ms, in addition to the draining. A longer stop is cut. */
let stopWithinMs = 20_000

/** A failure that the operator can fix: one sentence, no stack. */
class StartError extends Error {}

/** The running parts, in their order of start. They are stopped in reverse order. */
const running: { name: string; stop: () => Promise<unknown> }[] = []
let drain: (() => Promise<void>) | undefined
/** The part that a stop is waiting for. */
let waitingFor = 'the start'
/** Stops all parts; a failure of one does not keep the others from being stopped. True if all stops succeeded. */
async function stopAll(): Promise<boolean> {
  let isClean = true
  const parts = [...running.splice(0), ...(drain ? [{ name: 'requests', stop: drain }] : [])]
  for (const { name, stop } of parts.reverse()) {
    waitingFor = name
    await stop().catch((e: unknown) => {
      isClean = false
      process.stderr.write(`holdfast: could not stop ${name}: ${(e as Error).stack}\n`)
    })
  }
  return isClean
}
let stopping = false

async function start(): Promise<void> {
  const [argument] = process.argv.slice(2)
  if (argument !== undefined)
    throw new StartError(
      `The server takes no arguments (${argument}): environment variables configure it, see docs/configuration.md. The command for administrators is npm run -s holdfast.`,
    )
  const env = readEnv()
  const config = parseConfig(env)
  givenSecrets(env, config)
  const builds = checkFiles(config)
  const log = pino({ level: config.logLevel, serializers: { err: describeError } })
  const startingPostgres = config.databaseUrl
    ? undefined
    : startEmbeddedPostgres({ dataDir: config.dataDir, log: quiet(log) })
  const loading = loadParts()
  // A failure of PostgreSQL is told first.
  loading.catch(() => {})
  const embedded = await startingPostgres
  if (embedded) running.push({ name: 'the embedded PostgreSQL', stop: embedded.stop })
  embedded?.exited.then(({ expected, reason }) => {
    if (expected) return
    log.fatal({ reason }, 'embedded PostgreSQL stopped')
    process.exit(1)
  })
  const databaseUrl = config.databaseUrl ?? embedded!.connectionString
  // A database that is unavailable for a while does not fail the start, unless the process is stopping.
  const waiting = createWaitingNotice()
  const stalls = (e: unknown) => {
    if (stopping) throw e
    waiting(e)
  }
  let keysInUse: string[] = []
  const look = async () => {
    if (config.databaseUrl) await checkServer(databaseUrl)
    keysInUse = await masterKeysInUse(databaseUrl)
  }
  await retryWhileUnavailable(look, stalls).catch(unreachable(config))
  if (stopping) return
  const secrets = await loadSecrets(env, config, keysInUse)
  const prepare = async () => {
    await migrate(databaseUrl)
    await configureKept(databaseUrl, config.keptDays)
  }
  await retryWhileUnavailable(prepare, stalls).catch(unreachable(config))
  if (stopping) return
  let peppers!: Peppers
  await retryWhileUnavailable(async () => {
    peppers = await openPeppers(databaseUrl, secrets)
  }, stalls)
  if (stopping) return
  const { createApp, bootstrap, startJobs } = await loading
  if (stopping) return
  const app = createApp({ config, secrets, peppers, databaseUrl, log, ...builds })
  running.push({ name: 'the pending database writes', stop: app.stop })
  await retryWhileUnavailable(() => app.start(), stalls)
  if (stopping) return
  // Opens the port before it creates the first administrator: a failed start leaves no unseen password.
  await app.http
    .listen({ host: config.host, port: config.port, backlog: 4096 })
    .catch(taken(config.host, config.port, 'HOLDFAST_PORT'))
  const { pki, metrics } = app.listeners
  if (config.pki)
    await pki?.listen(config.pki.port, config.host).catch(taken(config.host, config.pki.port, 'HOLDFAST_PKI_PORT'))
  if (config.metrics) {
    const { host, port } = config.metrics
    await metrics?.listen(port, host).catch(taken(host, port, 'HOLDFAST_METRICS_PORT', 'HOLDFAST_METRICS_HOST'))
  }
  const makeFirst = () =>
    bootstrap(
      app,
      secrets,
      (first) => printFirstStart(first, config),
      (text) => log.warn(text),
    )
  await retryWhileUnavailable(() => withDatabaseLock(databaseUrl, databaseLocks.bootstrap, makeFirst), stalls)
  if (stopping) return
  // The server is ready for requests from here on.
  drain = () => app.drain(config.drainSeconds)
  stopWithinMs += config.drainSeconds * 1000
  running.push({ name: 'background jobs', ...(await startJobs(databaseUrl, app.jobs, log)) })
  const { gc } = globalThis
  running.push({
    name: 'collections',
    ...collectWhenIdle(gc && (() => gc({ type: 'major', flavor: 'last-resort', execution: 'sync' }))),
  })
  if (!stopping) printReady(config, app.http.addresses())
}

/** Loads the app, most of the code, after the process of PostgreSQL was launched, which starts beside the load. */
async function loadParts() {
  await setImmediate()
  const loaded = [import('./app/create-app.ts'), import('./app/bootstrap.ts'), import('./jobs/runner.ts')] as const
  const [{ createApp }, { bootstrap }, { startJobs }] = await Promise.all(loaded)
  return { createApp, bootstrap, startJobs }
}

/** Picks the fields of an error for the log. Other objects on a driver's errors are left out. */
const describeError = (e: unknown) =>
  e instanceof Error
    ? { message: e.message, code: (e as NodeJS.ErrnoException).code, stack: e.stack }
    : { message: String(e) }

const quiet = (log: pino.Logger) => ({
  info: (message: string) => log.debug(message),
  warn: (message: string) => log.warn(message),
})

const unreachable =
  ({ databaseUrl }: Config) =>
  async (e: unknown) => {
    if (e instanceof MigrationError) throw new StartError(e.message)
    if (databaseUrl === undefined) throw e
    const why = e instanceof UnsuitableDatabaseError ? e.message : await explainDatabaseError(e, databaseUrl)
    throw new StartError(`The database of DATABASE_URL cannot be used: ${why}`)
  }
const taken =
  (host: string, port: number, name: Variable, hostName: Variable = 'HOLDFAST_HOST') =>
  (e: NodeJS.ErrnoException) => {
    if (e.code === 'EADDRINUSE')
      throw new StartError(`Port ${port} on ${host} is in use: stop the process that listens there, or set ${name}.`)
    if (e.code === 'EACCES') throw new StartError(`Port ${port} is reserved for root: set ${name} to 1024 or higher.`)
    if (e.code === 'EADDRNOTAVAIL')
      throw wrongSetting(
        hostName,
        `is ${shown(host)}`,
        'an address of one of the network interfaces of this machine, or 0.0.0.0 for all',
      )
    if (e.code === 'ENOTFOUND' || e.code === 'EAI_AGAIN')
      throw wrongSetting(
        hostName,
        `is ${shown(host)}, a host name that was not found`,
        'an address or name of this machine',
      )
    throw e
  }

/** Prints a failure of the start so that the operator can fix it, and exits. */
function die(e: unknown): never {
  const plain =
    e instanceof ConfigError ||
    e instanceof StartError ||
    e instanceof MasterKeyError ||
    e instanceof EmbeddedPostgresError
  process.stderr.write(plain ? `holdfast: ${e.message}\n` : `holdfast: could not start\n${(e as Error).stack}\n`)
  process.exit(1)
}

// Signal handlers come first: at any time, all running parts are stopped in order. A second signal exits at once.
let starting: Promise<void> | undefined
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (stopping) process.exit(1)
    stopping = true
    const begun = (starting ?? Promise.resolve()).catch(() => {})
    setTimeout(() => {
      process.stderr.write(`holdfast: stopping took longer than ${stopWithinMs / 1000} s, waiting for ${waitingFor}\n`)
      process.exit(1)
    }, stopWithinMs).unref()
    void begun.then(stopAll).then((isClean) => process.exit(isClean ? 0 : 1))
  })
starting = start()
starting.catch(async (e: unknown) => {
  if (stopping) return
  await stopAll()
  die(e)
})
