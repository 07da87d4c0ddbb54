import { setTimeout as delay } from 'node:timers/promises'
import { createSemaphore } from '@holdfast/crypto/semaphore'
import {
  ApiError,
  type Device,
  DeviceEndedError,
  type DevicePolicy,
  enrollDevice,
  type PolicyContent,
  type TelemetryEvent,
} from '@holdfast/sdk'
import type { Facts, Platform } from './directory.ts'
import { clock, inParallel } from './in-parallel.ts'
import { createLines } from './lines.ts'
import { retryAfter, turnOf } from './retry-after.ts'
import { serveCommands } from './worker.ts'

/** The policy that a device of this process holds; `at` is on the clock that all processes share. */
export type Held = { index: number; digest: string | null; channel: string | null; version: number; at: number }
export type FleetEvent =
  | { kind: 'done'; count: number }
  | { kind: 'held'; held: Held[]; contents: [digest: string, content: PolicyContent][] }
  | { kind: 'error'; index: number; where: string; message: string }
  | { kind: 'refused'; index: number; at: number }
  | { kind: 'busy' | 'unanswered'; index: number }
type EnrollJob = { index: number; token: string; name: string; platform: Platform; wireguardKey: string }
type Asked = { index: number; status: number; at: number }
type Running = { device: Device; stop: AbortController | undefined; stopped: Promise<void> }

const lines = createLines()
/** A proof expires after a minute. A device therefore waits for its turn before it creates one. */
const startsAtOnce = 24
const inTurn = createSemaphore({ concurrency: 24, maxQueue: Number.POSITIVE_INFINITY })
const mostAttempts = 20
const running = new Map<number, Running>()
const told = new Set<string>()
let held: Held[] = []
let contents: [string, PolicyContent][] = []
let done = 0
let flushing: NodeJS.Timeout | undefined

/** Sends events to the parent in batches, so that 2,000 devices do not become 2,000 messages. */
function flushSoon(): void {
  flushing ??= setTimeout(flush, 20)
}

function flush(): void {
  clearTimeout(flushing)
  flushing = undefined
  if (held.length > 0) tell({ kind: 'held', held, contents })
  if (done > 0) tell({ kind: 'done', count: done })
  held = []
  contents = []
  done = 0
}

function note(index: number, policy: DevicePolicy | null): void {
  held.push({
    index,
    digest: policy?.digest ?? null,
    channel: policy?.channel ?? null,
    version: policy?.version ?? 0,
    at: clock(),
  })
  if (policy && !told.has(policy.digest)) {
    told.add(policy.digest)
    contents.push([policy.digest, policy.content])
  }
  flushSoon()
}

const fail = (index: number, where: string, error: unknown) =>
  tell({
    kind: 'error',
    index,
    where,
    message: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
  })

/** Retries up to `mostAttempts` times when the error names a delay. */
async function persist<T>(index: number, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const seconds = retryAfter(error)
      if (seconds === undefined || attempt === mostAttempts) throw error
      tell({ kind: turnOf(error), index })
      // Random delays keep clients that were refused together from returning together.
      await delay(seconds * (1 + Math.random()) * 1000)
    }
  }
}

/** Returns the milliseconds of each success. A failure is reported as an event and adds no number. */
async function timed(
  indexes: Iterable<number>,
  width: number,
  where: string,
  work: (device: Device, index: number) => Promise<unknown>,
) {
  const ms: number[] = []
  await inParallel(indexes, width, async (index) => {
    const device = running.get(index)?.device
    if (!device) return
    const started = performance.now()
    try {
      await persist(index, () => work(device, index))
      ms.push(performance.now() - started)
    } catch (error) {
      fail(index, where, error)
    }
    done++
    flushSoon()
  })
  flush()
  return ms
}

async function tellApplied(index: number, device: Device, digest: string): Promise<void> {
  const event = device.observed({ kind: 'policy_applied', policy_digest: digest })
  await inTurn(() => persist(index, () => device.reportTelemetry([event])))
}

/** Keeps one device current until it is stopped or the server refuses it. Settles with the device's first status. */
async function keepCurrent(index: number, wait: number): Promise<void> {
  const one = running.get(index)
  if (!one || (one.stop && !one.stop.signal.aborted)) return
  const heard = Promise.withResolvers<void>()
  const stop = new AbortController()
  one.stop = stop
  one.stopped = one.device
    .runPolling({
      signal: stop.signal,
      wait,
      onPolicy: (policy) => {
        note(index, policy)
        // Not awaited: the report must not delay the next poll.
        if (policy) tellApplied(index, one.device, policy.digest).catch((error) => fail(index, 'telemetry', error))
      },
      onStatus: ({ status }) => {
        heard.resolve()
        if (status !== 'suspended' && status !== 'refused') return
        stop.abort()
        tell({ kind: 'refused', index, at: clock() })
      },
      onError: (error) => {
        if (stop.signal.aborted) return
        if (retryAfter(error) === undefined) fail(index, 'polling', error)
        else tell({ kind: turnOf(error), index })
      },
    })
    .catch((error) => {
      stop.abort()
      if (error instanceof DeviceEndedError) tell({ kind: 'refused', index, at: clock() })
      else fail(index, 'polling', error)
    })
  await Promise.race([heard.promise, one.stopped])
}

/** A session event that a device reports. With `isLie` the session is invented, and a rejection is expected. */
export type Told = {
  index: number
  gatewayId: string
  sessionId: string
  kind: 'connected' | 'disconnected'
  isLie?: boolean
}

const commands = {
  /** Enrolls up to `width` devices at a time; a failure is reported as an event. */
  enroll: async ({ baseUrl, jobs, width }: { baseUrl: string; jobs: EnrollJob[]; width: number }) => {
    const ms: number[] = []
    const enrolled: { index: number; id: string }[] = []
    await inParallel(jobs, width, async ({ index, token, name, platform, wireguardKey }) => {
      const started = performance.now()
      try {
        const described = {
          name,
          platform,
          client_version: 'sim/1',
          os_version: '15.0',
          wireguard_public_key: wireguardKey,
        }
        const device = await enrollDevice({ baseUrl, token, device: described, dispatcher: lines.of(index) })
        ms.push(performance.now() - started)
        running.set(index, { device, stop: undefined, stopped: Promise.resolve() })
        enrolled.push({ index, id: device.id })
      } catch (error) {
        fail(index, 'enroll', error)
      }
      done++
      flushSoon()
    })
    flush()
    return { ms, enrolled }
  },
  /** `port`: the port at which this process reaches the server from now on. */
  startPolling: async ({ wait, indexes, port }: { wait: number; indexes?: number[]; port: number | undefined }) => {
    lines.openAt(port)
    await inParallel(indexes ?? running.keys(), startsAtOnce, async (index) => {
      await keepCurrent(index, wait)
      done++
      flushSoon()
    })
    flush()
  },
  /** Stops polling for these devices, or for all. */
  stopPolling: async ({ indexes }: { indexes?: number[] }) => {
    const some = indexes ? indexes.flatMap((index) => running.get(index) ?? []) : [...running.values()]
    for (const { stop } of some) stop?.abort()
    await Promise.all(some.map(({ stopped }) => stopped))
  },
  reportPosture: ({ reports, width }: { reports: [index: number, facts: Facts][]; width: number }) => {
    const facts = new Map(reports)
    return timed(facts.keys(), width, 'posture', (device, index) => device.reportPosture(facts.get(index) ?? {}))
  },
  /** Polls once without waiting for a change. Afterwards the device holds the server's current policy. */
  poll: ({ indexes, width }: { indexes: number[]; width: number }) =>
    timed(indexes, width, 'digest', async (device, index) => {
      const { changed } = await device.pollDigest()
      if (!changed) return
      const before = device.policy?.digest
      const policy = await device.fetchBundle()
      if (policy.digest !== before) note(index, policy)
    }),
  /** Sends one request per device and returns its status; 0 means no answer. */
  ask: async ({ indexes }: { indexes: number[] }): Promise<Asked[]> =>
    Promise.all(
      indexes.map(async (index) => {
        const status = await statusOf(running.get(index)?.device.pollDigest())
        return { index, status, at: clock() }
      }),
    ),
  /** Returns the gateways that each device may use. */
  gateways: async ({ indexes, width }: { indexes: number[]; width: number }) => {
    const offers: { index: number; gatewayIds: string[] }[] = []
    await timed(indexes, width, 'gateway pools', async (device, index) => {
      const { pools } = await device.fetchDirectory()
      offers.push({ index, gatewayIds: pools.flatMap(({ gateways }) => gateways.map((g) => g.gateway_id)) })
    })
    return offers
  },
  /** Reports a session to the server as the device sees it. */
  tellSessions: ({ sessions, width }: { sessions: Told[]; width: number }) => {
    const byIndex = new Map(sessions.map((session) => [session.index, session]))
    const events = new Map<number, TelemetryEvent>()
    return timed(byIndex.keys(), width, 'telemetry', async (device, index) => {
      const session = byIndex.get(index)
      if (!session) return
      const { gatewayId, sessionId, kind, isLie = false } = session
      const seen = { kind, gateway_id: gatewayId, session_id: sessionId, latency_ms: 12 }
      const event = events.get(index) ?? device.observed(seen)
      events.set(index, event)
      const { rejected } = await device.reportTelemetry([event])
      if (isLie) return
      for (const { error } of rejected) fail(index, 'telemetry', new Error(`${kind} was rejected: ${error}`))
    })
  },
}
export type FleetCommands = typeof commands

async function statusOf(answer: Promise<unknown> | undefined): Promise<number> {
  try {
    await answer
    return 200
  } catch (error) {
    return error instanceof ApiError ? error.status : 0
  }
}

const tell = serveCommands<FleetEvent>(commands)
