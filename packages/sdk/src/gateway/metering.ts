import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import { backoffSeconds, type Random, sleep } from '../backoff.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { withNewer } from '../newer-fields.ts'
import { bodyOf, type Send } from '../send.ts'
import { isObject } from '../verify/signed.ts'
import type { GatewayStore } from './store.ts'

type Report = Omit<Input<Contract['metering']>['body'], 'sent_at'>
export type MeteringSample = Report['samples'][number]
export type MeteringLoad = NonNullable<Report['load']>
export type Metered = Output<Contract['metering']>

/** Limits of the control plane for one report, minus a reserve for the data around the samples. */
const most = { samples: 10_000, names: 190_000, bytes: 9_500_000 }
/** Longest pause in seconds between two attempts to deliver a report. */
const longestPause = 60

export type MeterCall = {
  load?: MeteringLoad
  signal?: AbortSignal
  /** Called after the report is saved in the store, before it is sent. */
  onKept?: () => Promise<void>
}
type MeterOptions = {
  bootId: string
  query: Record<string, string>
  now: () => Date
  random: Random
  store: GatewayStore | undefined
  onStoreError: (e: unknown) => void
}

/**
 * Reports traffic as deltas, one report after the other. A report is repeated with the same boot id and sequence until
 * the server acknowledges it, with a store also by the next process, so it counts exactly once. A final refusal is
 * thrown as `ApiError` and not repeated.
 */
export function createMeter(send: Send, { bootId, query, now, random, store, onStoreError }: MeterOptions) {
  let sequence = 0
  let intervalStart = now()
  let waiting: Report[] = []

  const keep = async () => store?.save('metering', JSON.stringify({ schema, waiting })).catch(onStoreError)

  async function deliver(report: Report, signal: AbortSignal | undefined): Promise<Metered> {
    for (let failures = 1; ; failures++) {
      try {
        const answer = bodyOf(
          await withNewer({ sent_at: now().toISOString() }, (more) =>
            send('metering', { body: { ...report, ...more }, query }, { signal }),
          ),
        )
        await forget(report)
        return answer
      } catch (e) {
        if (!isPassing(e)) {
          if (!signal?.aborted) await forget(report)
          throw e
        }
        await sleep(backoffSeconds(failures, e, random, longestPause), signal)
      }
    }
  }
  async function forget(report: Report): Promise<void> {
    waiting = waiting.filter((one) => one !== report)
    await keep()
  }

  async function loadBefore(): Promise<Report[]> {
    try {
      const text = await store?.load('metering')
      const before = text === undefined ? [] : waitingOf(text)
      waiting = [...before, ...waiting]
      return before
    } catch (e) {
      onStoreError(e)
      return []
    }
  }
  let before: Promise<Report[]> | undefined
  let queue: Promise<unknown> = Promise.resolve()
  /** Undelivered reports of an earlier process go first. */
  function resume(): Promise<Report[]> {
    if (before) return before
    const loaded = loadBefore()
    before = loaded
    queue = loaded.then(async (reports) => {
      for (const report of reports) await deliver(report, undefined).catch(() => undefined)
    })
    return loaded
  }

  function meter(samples: readonly MeteringSample[], { load, signal, onKept }: MeterCall = {}): Promise<Metered> {
    const start = intervalStart
    const end = now()
    intervalStart = end
    const parts = partsOf(samples)
    const reports = parts.map(
      (part): Report => ({
        report_id: randomUUID(),
        boot_id: bootId,
        sequence: ++sequence,
        interval_start: start.toISOString(),
        interval_end: end.toISOString(),
        samples: part,
        ...(load && { load }),
      }),
    )
    waiting.push(...reports)
    const kept = resume()
      .then(keep)
      .then(() => onKept?.())
    const sent = queue.then(async () => {
      await kept
      const answers: Metered[] = []
      for (const report of reports) answers.push(await deliver(report, signal))
      const ended_sessions = answers.flatMap((answer) => answer.ended_sessions ?? [])
      return {
        ...(ended_sessions.length > 0 && { ended_sessions }),
        accepted: answers.reduce((sum, { accepted }) => sum + accepted, 0),
        duplicate: answers.reduce((sum, { duplicate }) => sum + Number(duplicate), 0),
        unknown_resources: [...new Set(answers.flatMap(({ unknown_resources }) => unknown_resources))].sort(),
        rejected: answers.flatMap(({ rejected }, n) => {
          const before = parts.slice(0, n).reduce((sum, part) => sum + part.length, 0)
          return rejected.map((r) => ({ ...r, index: r.index + before }))
        }),
      }
    })
    queue = sent.catch(() => undefined)
    return sent
  }
  return {
    meter,
    /** Starts to deliver the reports of an earlier process. */
    resume: (): void => {
      void resume()
    },
  }
}

/** Splits samples into reports. Without samples there is one empty report. */
function partsOf(samples: readonly MeteringSample[]): MeteringSample[][] {
  const parts: MeteringSample[][] = []
  let [part, names, bytes]: [MeteringSample[], number, number] = [[], 0, 0]
  for (const sample of samples) {
    const ownNames = Object.keys(sample).length + 3 * (sample.resources?.length ?? 0)
    const ownBytes = Buffer.byteLength(JSON.stringify(sample)) + 1
    if (part.length === most.samples || names + ownNames > most.names || bytes + ownBytes > most.bytes) {
      parts.push(part)
      ;[part, names, bytes] = [[], 0, 0]
    }
    part.push(sample)
    names += ownNames
    bytes += ownBytes
  }
  return [...parts, part]
}

const schema = 'holdfast.gateway-metering/1'

/** Parses reports that this package saved. Their content is left to the server to check. */
function waitingOf(text: string): Report[] {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || value.schema !== schema || !Array.isArray(value.waiting))
    throw new TypeError('the stored value is not a list of metering reports')
  return value.waiting
}

/** True if the same request can succeed later: no answer, too many requests, or a server error. */
const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500))
