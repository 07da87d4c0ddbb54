import type { PolicyContent } from '@holdfast/sdk'
import type { Complaints } from './complaints.ts'
import type { Facts, SimDevice } from './directory.ts'
import type { FleetCommands, FleetEvent, Held, Told } from './fleet-process.ts'
import { within } from './in-parallel.ts'
import { startWorker, type Worker } from './worker.ts'

/** Concurrent requests in each process. */
const width = 24

/** The devices, spread over processes, and the policy that each of them has reported to hold. */
export type Fleet = ReturnType<typeof startFleet>

/** A device's event: a failed request, or a final refusal by the server. */
type Failure = Extract<FleetEvent, { kind: 'error' | 'refused' }>

export function startFleet(
  processes: number,
  {
    complaints,
    forgives,
    ports = [],
  }: { complaints: Complaints; forgives: (event: Failure) => boolean; ports?: readonly number[] },
) {
  const held = new Map<number, Held>()
  const contents = new Map<string, PolicyContent>()
  const turned = { busy: 0, unanswered: 0 }
  const listeners = new Set<(event: FleetEvent) => void>()
  const onEvent = (event: FleetEvent) => {
    if (event.kind === 'held') {
      for (const [digest, content] of event.contents) contents.set(digest, content)
      for (const each of event.held) held.set(each.index, each)
    }
    if (event.kind === 'busy' || event.kind === 'unanswered') turned[event.kind]++
    if (event.kind === 'error' && !forgives(event)) complaints.error(`${event.where}: ${event.message}`)
    if (event.kind === 'refused' && !forgives(event)) complaints.error('polling: refused for good (401)')
    for (const listen of listeners) listen(event)
  }
  const workers = Array.from({ length: processes }, () =>
    startWorker<FleetCommands, FleetEvent>('./fleet-process.ts', onEvent),
  )

  /** Splits the items between the processes; a device always belongs to the same one. */
  async function each<T, R>(
    items: readonly T[],
    indexOf: (item: T) => number,
    ask: (worker: Worker<FleetCommands>, part: T[], n: number) => Promise<R>,
  ) {
    const parts = Map.groupBy(items, (item) => indexOf(item) % processes)
    return Promise.all(
      [...parts].map(([n, part]) => {
        const worker = workers[n]
        if (!worker) throw new RangeError(`no process ${n}`)
        return ask(worker, part, n)
      }),
    )
  }
  const itself = (index: number) => index

  /** Passes the counts of `done` events to `advance` while `work` runs. */
  async function counted<T>(advance: (count: number) => void, work: Promise<T>): Promise<T> {
    const listen = (event: FleetEvent) => {
      if (event.kind === 'done') advance(event.count)
    }
    listeners.add(listen)
    return work.finally(() => listeners.delete(listen))
  }

  return {
    held,
    contents,
    /** Counts of requests that were told to retry later, and of requests without an answer. */
    turned,
    enroll: async (
      baseUrl: string,
      jobs: readonly { device: SimDevice; token: string }[],
      advance: (count: number) => void,
    ) => {
      const parts = each(
        jobs,
        ({ device }) => device.index,
        (worker, part) => {
          const asked = part.map(({ device: { index, name, platform, wireguardKey }, token }) => ({
            index,
            token,
            name,
            platform,
            wireguardKey,
          }))
          return worker.call('enroll', { baseUrl, jobs: asked, width })
        },
      )
      const answers = await counted(advance, parts)
      return { ms: answers.flatMap(({ ms }) => ms), enrolled: answers.flatMap(({ enrolled }) => enrolled) }
    },
    /** Settles when each of these devices has received its first status. */
    startPolling: (indexes: readonly number[], wait = 45, advance: (count: number) => void = () => {}) =>
      counted(
        advance,
        each(indexes, itself, (worker, part, n) =>
          worker.call('startPolling', { wait, indexes: part, port: ports[n % ports.length] }),
        ),
      ),
    stopPolling: (indexes: readonly number[]) =>
      each(indexes, itself, (worker, part) => worker.call('stopPolling', { indexes: part })),
    reportPosture: async (reports: readonly [number, Facts][], advance: (count: number) => void) =>
      (
        await counted(
          advance,
          each(
            reports,
            ([index]) => index,
            (worker, part) => worker.call('reportPosture', { reports: part, width }),
          ),
        )
      ).flat(),
    poll: async (indexes: readonly number[], advance: (count: number) => void) =>
      (
        await counted(
          advance,
          each(indexes, itself, (worker, part) => worker.call('poll', { indexes: part, width })),
        )
      ).flat(),
    ask: async (indexes: readonly number[]) =>
      (await each(indexes, itself, (worker, part) => worker.call('ask', { indexes: part }))).flat(),
    gateways: async (indexes: readonly number[]) =>
      (await each(indexes, itself, (worker, part) => worker.call('gateways', { indexes: part, width }))).flat(),
    tellSessions: async (sessions: readonly Told[]) =>
      (
        await each(
          sessions,
          ({ index }) => index,
          (worker, part) => worker.call('tellSessions', { sessions: part, width }),
        )
      ).flat(),
    /**
     * Settles when `isThere` holds for every device, or after `seconds`. Calls `advance` for each device that meets it.
     */
    awaitHeld: async (
      indexes: readonly number[],
      seconds: number,
      isThere: (held: Held | undefined, index: number) => boolean,
      advance: (count: number) => void,
    ) => {
      const missing = new Set(indexes)
      const look = (some: Iterable<number>) => {
        for (const index of some)
          if (missing.has(index) && isThere(held.get(index), index) && missing.delete(index)) advance(1)
      }
      let arrived = () => {}
      const all = new Promise<true>((resolve) => {
        arrived = () => resolve(true)
      })
      const listen = (event: FleetEvent) => {
        if (event.kind !== 'held') return
        look(event.held.map(({ index }) => index))
        if (missing.size === 0) arrived()
      }
      listeners.add(listen)
      look(indexes)
      if (missing.size > 0) await within(seconds, all)
      listeners.delete(listen)
    },
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.stop()))
    },
  }
}
