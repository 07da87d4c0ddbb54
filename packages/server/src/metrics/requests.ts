import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Operation, operations } from '@holdfast/contract'
import type { Metric, Sample } from './exposition.ts'

/** Upper bounds of the buckets in seconds, inclusive. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
type Timed = { buckets: number[]; sum: number; count: number }
type Counted = { byStatus: Map<number, number>; timed: Timed }

/** Operations that are answered before the router, by method and path. */
const byPath = new Map<string, Operation>(
  operations.flatMap(([name, { method, path }]) => (path.includes('{') ? [] : [[`${method} ${path}`, name]])),
)
const nobodysOperation = 'none'
/** Status for a client that disconnected before the answer. */
const clientGoneStatus = 499

/** Counts the requests of each operation and their durations, for all ways of answering. */
export function createRequestMetrics() {
  const counted = new Map<string, Counted>()
  const operationOf = new WeakMap<IncomingMessage, Operation>()
  let open = 0

  function count(request: IncomingMessage, response: ServerResponse, ms: number): void {
    const { method = '', url = '', headers } = request
    const name = operationOf.get(request) ?? byPath.get(`${method} ${url}`) ?? nobodysOperation
    let its = counted.get(name)
    if (!its) {
      its = { byStatus: new Map(), timed: { buckets: bounds.map(() => 0), sum: 0, count: 0 } }
      counted.set(name, its)
    }
    const status = response.writableEnded ? response.statusCode : clientGoneStatus
    its.byStatus.set(status, (its.byStatus.get(status) ?? 0) + 1)
    // The duration of a request that may be held says nothing.
    if (headers.prefer === undefined) time(its.timed, ms / 1000)
  }

  return {
    /** Wraps the listener of all requests. */
    around:
      (answer: RequestListener): RequestListener =>
      (request, response) => {
        const begun = performance.now()
        answer(request, response)
        if (response.writableEnded) return count(request, response, performance.now() - begun)
        open++
        response.once('close', () => {
          open--
          count(request, response, performance.now() - begun)
        })
      },
    /** Sets the operation of a request. */
    isOf: (request: IncomingMessage, operation: Operation): void => {
      operationOf.set(request, operation)
    },

    metrics: (): Metric[] => [
      {
        name: 'holdfast_http_requests_total',
        help: 'Requests answered, by operation and status; 499: the client closed the connection first.',
        type: 'counter',
        samples: [...counted].flatMap(([operation, { byStatus }]) =>
          [...byStatus].map(([status, value]) => ({ labels: { operation, status: String(status) }, value })),
        ),
      },
      {
        name: 'holdfast_http_request_duration_seconds',
        help: 'Time from a request to the end of its answer, without requests that may be held (Prefer: wait).',
        type: 'histogram',
        samples: [...counted].flatMap(([operation, { timed }]) => samplesOf(operation, timed)),
      },
      {
        name: 'holdfast_http_requests_open',
        help: 'Requests in progress, held ones included.',
        type: 'gauge',
        samples: [{ value: open }],
      },
    ],
  }
}
export type RequestMetrics = ReturnType<typeof createRequestMetrics>

function time(timed: Timed, seconds: number): void {
  const bucket = bounds.findIndex((bound) => seconds <= bound)
  if (bucket >= 0) timed.buckets[bucket]!++
  timed.sum += seconds
  timed.count++
}

/** Buckets are cumulative in the output. */
function samplesOf(operation: string, { buckets, sum, count }: Timed): Sample[] {
  let below = 0
  const within = bounds.map((bound, i) => {
    below += buckets[i] ?? 0
    return { suffix: '_bucket', labels: { operation, le: String(bound) }, value: below }
  })
  return [
    ...within,
    { suffix: '_bucket', labels: { operation, le: '+Inf' }, value: count },
    { suffix: '_sum', labels: { operation }, value: sum },
    { suffix: '_count', labels: { operation }, value: count },
  ]
}
