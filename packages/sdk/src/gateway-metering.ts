import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { backoffSeconds, type Random, sleep } from './backoff.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { bodyOf, type Send } from './send.ts'

type Report = Input<Contract['metering']>['body']
export type MeteringSample = Report['samples'][number]
export type MeteringLoad = NonNullable<Report['load']>
export type Metered = Output<Contract['metering']>

const mostSamples = 10_000

/**
 * Reports traffic as deltas, one report after the other. A report is sent again under the same sequence until the server acknowledges
 * it, so it counts exactly once; what the server refuses for good is thrown as `ApiError` and not repeated.
 */
export function createMeter(
  send: Send,
  { bootId, query, now, random }: { bootId: string; query: Record<string, string>; now: () => Date; random: Random },
) {
  let sequence = 0
  let intervalStart = now()
  let queue: Promise<unknown> = Promise.resolve()

  async function deliver(report: Report, signal: AbortSignal | undefined): Promise<Metered> {
    for (let failures = 1; ; failures++) {
      try {
        return bodyOf(await send('metering', { body: report, query }, { signal }))
      } catch (error) {
        if (!isPassing(error)) throw error
        await sleep(backoffSeconds(failures, error, random), signal)
      }
    }
  }

  return function meter(
    samples: readonly MeteringSample[],
    { load, signal }: { load?: MeteringLoad; signal?: AbortSignal } = {},
  ): Promise<Metered> {
    const start = intervalStart
    const end = now()
    intervalStart = end
    const reports: Report[] = []
    for (let at = 0; at === 0 || at < samples.length; at += mostSamples) {
      reports.push({
        report_id: randomUUID(),
        boot_id: bootId,
        sequence: ++sequence,
        interval_start: start.toISOString(),
        interval_end: end.toISOString(),
        samples: samples.slice(at, at + mostSamples),
        ...(load && { load }),
      })
    }
    const sent = queue.then(async () => {
      const answers: Metered[] = []
      for (const report of reports) answers.push(await deliver(report, signal))
      return {
        accepted: answers.reduce((sum, { accepted }) => sum + accepted, 0),
        duplicate: answers.every(({ duplicate }) => duplicate),
        rejected: answers.flatMap(({ rejected }, n) =>
          rejected.map((r) => ({ ...r, index: r.index + n * mostSamples })),
        ),
      }
    })
    queue = sent.catch(() => undefined)
    return sent
  }
}

/** Whether the same request can succeed later: no answer, too many requests, or a server in trouble. */
const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500))
