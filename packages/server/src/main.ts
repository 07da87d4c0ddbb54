import { pino } from 'pino'
import { createApp } from './app.ts'
import { bootstrap } from './bootstrap.ts'
import { type Config, ConfigError, parseConfig } from './config/config.ts'
import { readEnv } from './config/env.ts'
import { loadSecrets } from './config/secrets.ts'
import { withDatabaseLock } from './db/lock.ts'
import { MigrationError, migrate } from './db/migrate.ts'
import { EmbeddedPostgresError, startEmbeddedPostgres } from './embedded/postgres.ts'
import { startJobs } from './jobs/runner.ts'
import { printFirstStart, printReady } from './terminal.ts'

const bootstrapLock = 7_264_402
const stopWithinMs = 15_000

/** A failure that the operator can mend: one sentence, no stack. */
class StartError extends Error {}

async function start(): Promise<void> {
  const env = readEnv()
  const config = parseConfig(env)
  const log = pino({ level: config.logLevel, serializers: { err: describeError } })
  const embedded = config.databaseUrl
    ? undefined
    : await startEmbeddedPostgres({ dataDir: config.dataDir, log: quiet(log) })
  const databaseUrl = config.databaseUrl ?? embedded!.connectionString
  // What runs, from the database outwards; it is stopped the other way round.
  const running: { stop: () => Promise<unknown> }[] = embedded ? [embedded] : []
  const stopAll = async () => {
    for (const each of running.splice(0).reverse()) await each.stop()
  }

  try {
    const secrets = await loadSecrets(env, config)
    await migrate(databaseUrl).catch(unreachable(config))
    const app = createApp({ config, secrets, databaseUrl, log })
    running.push(app)
    await app.start()
    // The port before the first administrator: a start that fails leaves no password that nobody saw.
    await app.http.listen({ host: config.host, port: config.port, backlog: 4096 }).catch(taken(config))
    const first = await withDatabaseLock(databaseUrl, bootstrapLock, () => bootstrap(app, secrets.adminPassword))
    if (first) printFirstStart(first, config)
    running.push(await startJobs(databaseUrl, app.jobs, log))
    printReady(config, app.http.addresses())
  } catch (e) {
    await stopAll()
    throw e
  }

  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (stopping) return
      stopping = true
      log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), stopWithinMs).unref()
      stopAll().then(() => process.exit(0))
    })
  embedded?.exited.then(({ expected, reason }) => {
    if (expected) return
    log.fatal({ reason }, 'the embedded PostgreSQL ended')
    process.exit(1)
  })
}

/** What of an error belongs into the log; the objects that hang on a driver's errors do not. */
const describeError = (e: unknown) =>
  e instanceof Error
    ? { message: e.message, code: (e as NodeJS.ErrnoException).code, stack: e.stack }
    : { message: String(e) }

const quiet = (log: pino.Logger) => ({
  info: (message: string) => log.debug(message),
  warn: (message: string) => log.warn(message),
})

const unreachable = (config: Config) => (e: unknown) => {
  if (e instanceof MigrationError) throw new StartError(e.message)
  if (config.databaseUrl)
    throw new StartError(
      `The database of DATABASE_URL can not be used: ${(e as Error).message || (e as NodeJS.ErrnoException).code}.`,
    )
  throw e
}
const taken = (config: Config) => (e: NodeJS.ErrnoException) => {
  if (e.code === 'EADDRINUSE')
    throw new StartError(
      `Port ${config.port} on ${config.host} is in use: stop what listens there or set HOLDFAST_PORT.`,
    )
  if (e.code === 'EACCES')
    throw new StartError(
      `Port ${config.port} needs more rights than this user has: set HOLDFAST_PORT to 1024 or higher.`,
    )
  if (e.code === 'EADDRNOTAVAIL')
    throw new StartError(`HOLDFAST_HOST ${config.host} is not an address of this machine.`)
  throw e
}

start().catch((e: unknown) => {
  const plain = e instanceof ConfigError || e instanceof StartError || e instanceof EmbeddedPostgresError
  process.stderr.write(plain ? `holdfast: ${e.message}\n` : `holdfast: could not start\n${(e as Error).stack}\n`)
  process.exit(1)
})
