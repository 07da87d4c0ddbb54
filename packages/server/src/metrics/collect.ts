import { expose, gauge, type Metric, type MetricSource } from './exposition.ts'

/** Time in ms for which values from the database are reused. */
const freshMs = 5000

/**
 * Renders all metrics as one text. Concurrent callers share one read. If the database does not answer, its metrics are
 * missing, and the output says so.
 */
export function createCollector({
  local,
  stored,
  onError,
}: {
  local: readonly MetricSource[]
  /** Sources that read from the database. */
  stored: readonly MetricSource[]
  onError: (e: unknown) => void
}) {
  let kept: { metrics: readonly Metric[]; failed: boolean; at: number } | undefined
  let reading: Promise<NonNullable<typeof kept>> | undefined

  async function read(): Promise<NonNullable<typeof kept>> {
    const found = await Promise.allSettled(stored.map(async (source) => source()))
    const refused = found.filter((f) => f.status === 'rejected')
    if (refused[0]) onError(refused[0].reason)
    return {
      metrics: found.flatMap((f) => (f.status === 'fulfilled' ? f.value : [])),
      failed: refused.length > 0,
      at: performance.now(),
    }
  }
  async function ofDatabase(): Promise<NonNullable<typeof kept>> {
    if (kept && performance.now() - kept.at < freshMs) return kept
    reading ??= read().finally(() => {
      reading = undefined
    })
    kept = await reading
    return kept
  }

  return async (): Promise<string> => {
    const { metrics, failed } = await ofDatabase()
    const own = (await Promise.all(local.map((source) => source()))).flat()
    const up = gauge(
      'holdfast_database_up',
      '1 if the database answered the queries of this page, 0 otherwise.',
      failed ? 0 : 1,
    )
    return expose([...own, up, ...metrics])
  }
}
