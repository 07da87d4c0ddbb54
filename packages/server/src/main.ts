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
  const log = pino({ level: config.logLevel })
  const embedded = config.databaseUrl
    ? undefined
    : await startEmbeddedPostgres({ dataDir: config.dataDir, log: quiet(log) })
  const databaseUrl = config.databaseUrl ?? embedded!.connectionString
  let stopping = false

  try {
    const secrets = await loadSecrets(env, config)
    await migrate(databaseUrl).catch(unreachable(config))
    const app = createApp({ config, secrets, databaseUrl, log })
    const first = await withDatabaseLock(databaseUrl, bootstrapLock, async () => {
      await app.start()
      return bootstrap(app, secrets.adminPassword)
    })
    const jobs = await startJobs(databaseUrl, app.jobs, log)
    await app.http.listen({ host: config.host, port: config.port, backlog: 4096 }).catch(taken(config))
    if (first) printFirstStart(first, config)
    printReady(config, app.http.addresses())

    const stop = async (signal: string) => {
      if (stopping) return
      stopping = true
      log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), stopWithinMs).unref()
      await app.stop()
      await jobs.stop()
      await embedded?.stop()
      process.exit(0)
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop(signal))
    embedded?.exited.then(({ expected, reason }) => {
      if (!expected) {
        log.fatal({ reason }, 'the embedded PostgreSQL ended')
        process.exit(1)
      }
    })
  } catch (e) {
    await embedded?.stop()
    throw e
  }
}

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
