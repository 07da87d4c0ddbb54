import { Logger, parseCrontab, run } from 'graphile-worker'
import type { Log } from '../kernel/log.ts'

/** Background work: idempotent, without input, run by one replica at a time. `cron` in the five fields of crontab(5), UTC. */
export type Job = { name: string; cron: string; run: () => Promise<unknown> }

/** Runs the jobs on the same database; whichever replica is free takes the next one. */
export async function startJobs(url: string, jobs: readonly Job[], log: Log): Promise<{ stop: () => Promise<void> }> {
  const runner = await run({
    connectionString: url,
    concurrency: 2,
    pollInterval: 5000,
    maxPoolSize: 4,
    noHandleSignals: true,
    noPreparedStatements: true,
    logger: new Logger(() => (level, message) => {
      if (level === 'error' || level === 'warning') log.warn({ job: true }, message)
    }),
    taskList: Object.fromEntries(
      jobs.map((job) => [
        job.name,
        async () => {
          await job.run()
        },
      ]),
    ),
    parsedCronItems: parseCrontab(jobs.map((job) => `${job.cron} ${job.name} ?max=3`).join('\n')),
  })
  runner.promise.catch((e: Error) => log.error({ err: e }, 'background jobs stopped'))
  return { stop: () => runner.stop().catch(() => {}) }
}
