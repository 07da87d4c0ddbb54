import { setTimeout as delay } from 'node:timers/promises'
import { Logger, parseCrontab, type Runner, run } from 'graphile-worker'
import pg from 'pg'
import { keyedLocks } from '../db/advisory-locks.ts'
import { Connection } from '../db/connection.ts'
import { isAway } from '../db/unavailable.ts'
import type { Log } from '../kernel/log.ts'
import { second } from '../kernel/time.ts'

/**
 * A background job: idempotent, without input, run by one replica at a time. `cron` has the five fields of crontab(5),
 * UTC.
 */
export type Job = { name: string; cron: string; run: () => Promise<unknown> }

const concurrency = 2
const startAgainAfterMs = 2 * second
/** Time in ms that a stop waits for running jobs. Jobs that are cut then roll back, and the next run repeats them. */
const finishWithinMs = 5 * second

/** Runs the jobs in all replicas on the same database. Any free replica takes the next job. */
export async function startJobs(url: string, jobs: readonly Job[], log: Log): Promise<{ stop: () => Promise<void> }> {
  // One connection listens. Each concurrent job needs one for the queue and one for its lock.
  const pool = new pg.Pool({
    connectionString: url,
    max: 1 + 2 * concurrency,
    connectionTimeoutMillis: 5 * second,
    Client: Connection,
  })
  const connections = new Set<Connection>()
  pool.on('connect', (client) => connections.add(client as Connection & pg.PoolClient))
  pool.on('remove', (client) => connections.delete(client as Connection & pg.PoolClient))
  const running = new Set<Promise<unknown>>()
  let stopped = false
  pool.on('error', (e) => {
    if (!stopped) log.warn({ err: e }, 'database connection of the background jobs closed')
  })

  /**
   * Runs a job unless it is already running. Uses an advisory lock, which ends with its connection: the job table would
   * keep a job of a killed replica locked for hours.
   */
  async function runAlone(job: Job): Promise<void> {
    const client = await pool.connect()
    try {
      const { rows } = await client.query<{ acquired: boolean }>(
        'select pg_try_advisory_lock($1, hashtext($2)) as acquired',
        [keyedLocks.job, job.name],
      )
      if (!rows[0]?.acquired) return client.release()
      await job.run()
      await client.query('select pg_advisory_unlock($1, hashtext($2))', [keyedLocks.job, job.name])
      client.release()
    } catch (e) {
      client.release(true)
      throw e
    }
  }
  const tracked = (job: Job) => async () => {
    if (stopped) return
    const work = runAlone(job)
    running.add(work)
    try {
      await work
    } finally {
      running.delete(work)
    }
  }

  const start = () =>
    run({
      pgPool: pool,
      concurrency,
      // With a delay the library writes the end of a job without awaiting it, and a failure would end the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      // New jobs are notified. Polling finds retries, and jobs with a lost notification.
      pollInterval: 30 * second,
      noHandleSignals: true,
      noPreparedStatements: true,
      logger: new Logger(() => (level, message) => {
        if (!stopped && (level === 'error' || level === 'warning')) log.warn({ job: true }, message)
      }),
      taskList: Object.fromEntries(jobs.map((job) => [job.name, tracked(job)])),
      parsedCronItems: parseCrontab(jobs.map((job) => `${job.cron} ${job.name} ?max=3`).join('\n')),
    })
  /** Restarts a runner that ends by itself, after the database was unavailable. */
  const watch = (runner: Runner) => {
    const ended = (e?: unknown) => {
      if (stopped) return
      log.error({ err: e }, 'background jobs stopped; restarting them')
      void startAgain()
    }
    runner.promise.then(() => ended(), ended)
  }
  const startAgain = async (): Promise<void> => {
    while (!stopped) {
      await delay(startAgainAfterMs, undefined, { ref: false })
      if (stopped) return
      try {
        runner = await start()
        if (stopped) return await runner.stop()
        return watch(runner)
      } catch (e) {
        log.error({ err: e }, 'background jobs could not start')
      }
    }
  }
  let runner: Runner | undefined
  try {
    runner = await start()
    watch(runner)
  } catch (e) {
    if (!isAway(e)) throw e
    log.warn({ err: e }, 'database does not answer; background jobs start when it does')
    void startAgain()
  }

  return {
    /** Takes no further job, waits a limited time for running ones, and closes the connections. */
    stop: async () => {
      stopped = true
      const finished = Promise.resolve(runner?.stop())
        .catch(() => {})
        .then(() => Promise.allSettled(running))
        .then(() => pool.end())
      await Promise.race([finished, delay(finishWithinMs, undefined, { ref: false })])
      for (const connection of connections) connection.cut()
    },
  }
}
