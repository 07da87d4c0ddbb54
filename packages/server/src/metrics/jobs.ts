import type { Job } from '../jobs/runner.ts'
import type { Metric } from './exposition.ts'

type Ran = { succeeded: number; failed: number; seconds: number; succeededAt: number }

/** Metrics of the background jobs that this replica ran. */
export function createJobMetrics() {
  const ran = new Map<string, Ran>()

  const measured = (job: Job): Job => {
    const its = { succeeded: 0, failed: 0, seconds: 0, succeededAt: 0 }
    ran.set(job.name, its)
    const run = async () => {
      const begun = performance.now()
      try {
        const done = await job.run()
        its.succeeded++
        its.succeededAt = Date.now() / 1000
        return done
      } catch (e) {
        its.failed++
        throw e
      } finally {
        its.seconds += (performance.now() - begun) / 1000
      }
    }
    return { ...job, run }
  }

  const of = (name: string, help: string, type: 'counter' | 'gauge', value: (its: Ran) => number): Metric => ({
    name,
    help,
    type,
    samples: [...ran].map(([job, its]) => ({ labels: { task: job }, value: value(its) })),
  })
  return {
    around: (jobs: readonly Job[]): Job[] => jobs.map(measured),
    metrics: (): Metric[] => [
      {
        name: 'holdfast_job_runs_total',
        help: 'Runs of background jobs on this replica, by result.',
        type: 'counter',
        samples: [...ran].flatMap(([job, { succeeded, failed }]) => [
          { labels: { task: job, outcome: 'succeeded' }, value: succeeded },
          { labels: { task: job, outcome: 'failed' }, value: failed },
        ]),
      },
      of('holdfast_job_seconds_total', 'Time spent in background jobs on this replica.', 'counter', (r) => r.seconds),
      of(
        'holdfast_job_last_success_timestamp_seconds',
        'Time of the last success of a job on this replica; 0: none since its start. Use the newest of all replicas.',
        'gauge',
        (r) => r.succeededAt,
      ),
    ],
  }
}
