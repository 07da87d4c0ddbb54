import { setTimeout as delay } from 'node:timers/promises'
import { serveCalls } from './calls.ts'
import { type Connection, openConnection } from './http-connection.ts'
import { type Packed, unpack } from './requests.ts'

type Target = { port: number; connections: number; requests: Packed }
export type Load = {
  answered: number
  broken: number
  /** Time from the first request to the last answer, in seconds. */
  seconds: number
  statuses: Record<number, number>
  latenciesMs: Float64Array
  /** Share of the time in which this process was busy. Near 1, the result measures this process and not the server. */
  busy: number
}

const clock = () => Number(process.hrtime.bigint()) / 1e6

function createTally(started = clock()) {
  const cpu = process.cpuUsage()
  const statuses: Record<number, number> = {}
  const latencies: number[] = []
  let last = started
  let broken = 0
  return {
    answered: (status: number, sentAt: number) => {
      last = clock()
      latencies.push(last - sentAt)
      statuses[status] = (statuses[status] ?? 0) + 1
    },
    broken: () => void broken++,
    result: (): Load => {
      const { user, system } = process.cpuUsage(cpu)
      const latenciesMs = Float64Array.from(latencies)
      const busy = (user + system) / 1000 / (clock() - started)
      return { answered: latencies.length, broken, seconds: (last - started) / 1000, statuses, latenciesMs, busy }
    },
  }
}

/** Closed loop: each connection sends its next request on an answer, until the time is over or no request is left. */
async function run({ seconds, once, ...target }: Target & { seconds?: number; once?: boolean }): Promise<Load> {
  const requests = unpack(target.requests)
  const starters: (() => void)[] = []
  const open: Connection[] = []
  let next = 0
  let until = Number.POSITIVE_INFINITY
  let tally = createTally()
  await new Promise<void>((resolve, reject) => {
    let running = target.connections
    const start = async () => {
      let sentAt = 0
      const ask = () => {
        const request = once ? requests[next] : requests[next % requests.length]
        if (request === undefined || clock() >= until) return void (--running === 0 && resolve())
        next++
        sentAt = clock()
        connection.send(request)
      }
      const answered = (status: number) => {
        tally.answered(status, sentAt)
        ask()
      }
      const connection = await openConnection(target, answered, reject)
      open.push(connection)
      starters.push(ask)
    }
    Promise.all(Array.from({ length: target.connections }, start)).then(() => {
      tally = createTally()
      if (seconds !== undefined) until = clock() + seconds * 1000
      for (const begin of starters) begin()
    }, reject)
  })
  for (const connection of open) connection.end()
  return tally.result()
}

/**
 * Open loop: requests fall due at a rate that does not depend on the server. Latency counts from the time at which a
 * request fell due.
 */
async function pace({ seconds, perSecond, ...target }: Target & { seconds: number; perSecond: number }): Promise<Load> {
  const requests = unpack(target.requests)
  const idle: ((dueAt: number) => void)[] = []
  const waiting: number[] = []
  const open: Connection[] = []
  let tally = createTally()
  let next = 0
  let pending = 0
  const openOne = async () => {
    let due: number | undefined
    const ask = (dueAt: number) => {
      due = dueAt
      connection.send(requests[next++ % requests.length]!)
    }
    const free = () => {
      const dueAt = waiting.shift()
      if (dueAt === undefined) idle.push(ask)
      else ask(dueAt)
    }
    const connection = await openConnection(
      target,
      (status) => {
        tally.answered(status, due ?? clock())
        due = undefined
        pending--
        free()
      },
      () => {
        tally.broken()
        const place = idle.indexOf(ask)
        if (due !== undefined) pending--
        else if (place >= 0) idle.splice(place, 1)
      },
    )
    open.push(connection)
    free()
  }
  await Promise.all(Array.from({ length: target.connections }, openOne))
  tally = createTally()
  await fallDue(Math.round(seconds * perSecond), perSecond, (dueAt) => {
    pending++
    const ask = idle.pop()
    if (ask) ask(dueAt)
    else waiting.push(dueAt)
  })
  for (const giveUp = clock() + 20_000; pending > 0 && clock() < giveUp; ) await delay(5)
  for (const connection of open) connection.end()
  for (; pending > 0; pending--) tally.broken()
  return tally.result()
}

/** Calls `begin` `count` times at a rate, each with the time at which the call fell due. */
async function fallDue(count: number, perSecond: number, begin: (dueAt: number) => void): Promise<void> {
  const started = clock()
  for (let i = 0; i < count; ) {
    const due = Math.min(count, Math.ceil(((clock() - started) / 1000) * perSecond))
    for (; i < due; i++) begin(started + (i / perSecond) * 1000)
    await delay(1)
  }
}

/** Open loop of visitors: each opens a connection, sends its requests one after the other, and closes it. */
async function visit({
  perVisit,
  perSecond,
  ...target
}: Omit<Target, 'connections'> & { perVisit: number; perSecond: number }): Promise<Load> {
  const requests = unpack(target.requests)
  const visitors = Math.floor(requests.length / perVisit)
  const tally = createTally()
  const visits: Promise<void>[] = []
  let visitor = 0
  const one = (first: number, dueAt: number) =>
    new Promise<void>((resolve) => {
      let sent = 0
      let since = dueAt
      let connection: Connection | undefined
      const fail = () => {
        tally.broken()
        resolve()
      }
      const ask = () => {
        if (sent === perVisit) {
          connection?.end()
          return resolve()
        }
        if (sent > 0) since = clock()
        connection?.send(requests[first + sent++]!)
      }
      const answered = (status: number) => {
        tally.answered(status, since)
        ask()
      }
      openConnection(target, answered, fail).then((c) => {
        connection = c
        ask()
      }, fail)
    })
  await fallDue(visitors, perSecond, (dueAt) => visits.push(one(visitor++ * perVisit, dueAt)))
  await Promise.all(visits)
  return tally.result()
}

type Held = {
  connections: Connection[]
  lastAt: number
  left: number
  statuses: Record<number, number>
  broken: Error | undefined
  over: () => void
  fail: (e: Error) => void
  done: Promise<void>
}
let held: Held | undefined

const calls = {
  run,
  pace,
  visit,
  /** Sends each request once, in order, and returns the match of `pattern` in each answer. */
  collect: async ({ pattern, ...target }: Target & { pattern: string }): Promise<string[]> => {
    const requests = unpack(target.requests)
    const found: string[] = []
    const wanted = new RegExp(pattern)
    let next = 0
    await Promise.all(
      Array.from(
        { length: target.connections },
        () =>
          new Promise<void>((resolve, reject) => {
            let mine = 0
            const ask = (c: Connection) => {
              mine = next++
              const request = requests[mine]
              if (request) return c.send(request)
              c.end()
              resolve()
            }
            const opened = openConnection(
              target,
              (_status, raw) => {
                found[mine] = wanted.exec(raw.toString('latin1'))?.[1] ?? ''
                opened.then(ask, reject)
              },
              reject,
            )
            opened.then(ask, reject)
          }),
      ),
    )
    return found
  },
  /** Opens `connections` connections and keeps them for `ask`. If one breaks, `ask` and `released` throw. */
  connect: async (target: Target): Promise<void> => {
    const nothing = { over: () => {}, fail: () => {}, done: Promise.resolve() }
    const state: Held = { connections: [], lastAt: 0, left: 0, statuses: {}, broken: undefined, ...nothing }
    held = state
    const broken = (e: Error) => {
      state.broken ??= e
      state.fail(e)
    }
    const answered = (status: number) => {
      state.lastAt = clock()
      state.statuses[status] = (state.statuses[status] ?? 0) + 1
      if (--state.left === 0) state.over()
    }
    for (let i = 0; i < target.connections; i += 200) {
      const some = Array.from({ length: Math.min(200, target.connections - i) }, () =>
        openConnection(target, answered, broken),
      )
      state.connections.push(...(await Promise.all(some)))
    }
  },
  /** Sends one request on each of the connections, at a rate that the server can take. */
  ask: async ({ requests: packed }: { requests: Packed }): Promise<void> => {
    const requests = unpack(packed)
    const state = held
    if (!state) throw new Error('connect first')
    if (state.broken) throw state.broken
    state.left = state.connections.length
    state.statuses = {}
    state.done = new Promise((resolve, reject) => {
      state.over = resolve
      state.fail = reject
    })
    // A connection may break before `released` waits.
    state.done.catch(() => {})
    for (const [i, connection] of state.connections.entries()) {
      connection.send(requests[i % requests.length]!)
      if (i % 100 === 99) await delay(10)
    }
  },
  /** Waits until all held requests are answered. Returns the time of the last answer on the monotonic clock, in ms. */
  released: async (_: null): Promise<{ lastAt: number; statuses: Record<number, number> }> => {
    await held?.done
    return { lastAt: held?.lastAt ?? 0, statuses: held?.statuses ?? {} }
  },
  disconnect: (_: null): void => {
    for (const connection of held?.connections ?? []) connection.end()
    held = undefined
  },
}
export type LoadCalls = typeof calls
serveCalls(calls)
