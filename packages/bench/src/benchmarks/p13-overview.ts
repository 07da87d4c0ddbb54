import { setTimeout as delay } from 'node:timers/promises'
import { seedAuditLog } from './rig/audit-log.ts'
import { seedFleet } from './rig/fleet.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median, quantile } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'dashboard overview'
const path = '/v1/admin/dashboard/overview'
const fullFleet = 100_000
const fullLog = 10_000_000
const clients = 8
const mostMs = 100
/** Longer than counts are cached, in ms. Adoption and the hourly figures are read again along with some of these. */
const laterMs = 4_100
const lookedAnew = 12

/** P13: by session: polled constantly, read now and then by a single page, and read first after a restart. */
export const overview: Benchmark = {
  id: 'P13',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const server = await bench.startServer()
    const [devices, events] = [scale.size(fullFleet), scale.size(fullLog)]
    say(`a fleet of ${devices} devices`)
    const { tenantId } = await seedFleet(server, { devices, directory: true, posture: true, asking: 1 })
    say(`${events.toLocaleString('en')} events`)
    await server.withDatabase(async (db) => {
      await seedAuditLog(db, tenantId, events)
      // The counts that the sequencer would have written.
      await db.query(
        `insert into audit_counts as c (tenant_id, hour, kind, outcome, events)
         select tenant_id, date_trunc('hour', at, 'utc'), kind, outcome, count(*) from audit_log
         where tenant_id = $1 group by 1, 2, 3, 4
         on conflict (tenant_id, hour, kind, outcome) do update set events = excluded.events`,
        [tenantId],
      )
      await db.query('vacuum analyze audit_counts')
    })
    const { person, cookie } = await openAdmin(server)
    const timed = async () => {
      const asked = performance.now()
      await person.dashboardOverview()
      return performance.now() - asked
    }
    await timed()
    const { load } = startRig(bench)
    const requests = pack([rawRequest('GET', path, { cookie })])
    const run = (connections: number) =>
      load.call('run', { port: server.port, connections, requests, seconds: scale.seconds })
    await run(clients)
    say(work)
    const p99s: number[] = []
    const loads = []
    for (let i = 0; i < scale.rounds; i++) {
      const done = await run(clients)
      rateOf(done, 200)
      loads.push(done)
      p99s.push(quantile(done.latenciesMs, 0.99))
    }
    say('by who looks now and then')
    const anew: number[] = []
    for (let i = 0; i < lookedAnew; i++) {
      await delay(laterMs)
      anew.push(await timed())
    }
    say('by who looks first after a restart')
    const firsts: number[] = []
    for (let i = 0; i < scale.rounds; i++) {
      await server.restart()
      firsts.push(await timed())
    }
    const of = `${devices.toLocaleString('en')} devices, ${events.toLocaleString('en')} audit rows`
    const rows: Row[] = [
      {
        id: 'P13',
        work: `${work}, ${of}: p99`,
        figure: milliseconds(median(p99s)),
        baseline: '–',
        ratio: null,
        target: `≤ ${mostMs} ms`,
        verdict: verdictOf(median(p99s) <= mostMs),
        note: `${clients} at once; ${busyNote(loads)}`,
        rounds: { p99s },
      },
      {
        id: 'P13',
        work: 'the same, its counts read anew each time: the slowest',
        figure: milliseconds(Math.max(...anew)),
        baseline: '–',
        ratio: null,
        target: `≤ ${mostMs} ms`,
        verdict: verdictOf(Math.max(...anew) <= mostMs),
        note: `${lookedAnew} times, ${laterMs / 1000} s apart; median ${milliseconds(median(anew))}`,
        rounds: { anew },
      },
      {
        id: 'P13',
        work: 'the same, all of it read for the first time since a start: the slowest',
        figure: milliseconds(Math.max(...firsts)),
        baseline: '–',
        ratio: null,
        target: `≤ ${mostMs} ms`,
        verdict: verdictOf(Math.max(...firsts) <= mostMs),
        note: `${firsts.length} restarts; median ${milliseconds(median(firsts))}`,
        rounds: { firsts },
      },
    ]
    return rows
  },
}
