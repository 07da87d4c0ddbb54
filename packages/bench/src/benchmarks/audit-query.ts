import type { Client } from '@holdfast/sdk'
import { seedAuditLog, wordsRead } from './rig/audit-log.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median, quantile } from './rig/rounds.ts'
import { openAdmin, type Server, signInAdmin } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'a page of 50 of the audit log'
const fullLog = 10_000_000
const pageSize = 50
const mostMs = 100

type Query = Record<string, string>
/** Filters with many matches, with few, with none, and pairs with many matches each but none together. */
const single: Record<string, Query> = {
  everything: {},
  'a common kind': { kind: 'api_key.used' },
  'a rare kind': { kind: 'user.mfa_disabled' },
  'a kind at the far end': { kind: 'tenant.changed' },
  'a kind that is not there': { kind: 'device.refused' },
  'kinds that begin alike': { kind: 'login.*' },
  'an actor': { actor_id: 'usr_none' },
  'a type of actors': { actor_type: 'job' },
  'a target': { target_id: 'dev_none' },
  'a type of targets': { target_type: 'gateway' },
  'an address': { source_ip: '198.51.7.9' },
  'an outcome': { outcome: 'refused' },
  'an outcome that is not there': { outcome: 'failed' },
  'an origin': { origin: 'gateway' },
  'a request': { request_id: 'req_1234567' },
  'a search by prefix': { q: 'name 3' },
  'a search for nothing': { q: 'zzz' },
  'a word in every event': { text: 'firefox' },
  'a word in one of 1,000': { text: 'thimble' },
  'a word in one of 200,000': { text: 'needle' },
  'a word that is not there': { text: 'haystack' },
  'words that never stand together': { text: 'needle thimble' },
}
const orders: Record<string, Query> = { 'towards newer': { sort: 'timestamp' }, 'by place': { sort: 'seq' } }

/**
 * The first page of every filter and every pair of filters, in every order, and a page far into the log. Read by
 * session.
 */
export const auditQuery: Benchmark = {
  id: 'A1',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const count = scale.size(fullLog)
    const server = await bench.startServer()
    const { admin } = await openAdmin(server)
    const { tenant_id } = await admin.me()
    say(`${count.toLocaleString('en')} events`)
    await seed(server, count)
    // The search words of new events are read after a number of sequence numbers, and each call is one event.
    for (let i = 0; i < 256; i++) await admin.listAuditEvents({ query: { limit: 1 } })
    say('their words are read')
    await wordsRead(server)
    // The earlier session has expired while the words were read.
    const { client: person, cookie } = await signInAdmin(server)
    const { load } = startRig(bench)
    const latencies = async (query: Query, seconds: number): Promise<Float64Array> => {
      const path = `/v1/audit/events?${new URLSearchParams({ limit: String(pageSize), ...query })}`
      const requests = pack([rawRequest('GET', path, { cookie })])
      const done = await load.call('run', { port: server.port, connections: 1, requests, seconds })
      rateOf(done, 200)
      return done.latenciesMs
    }
    say(`${work}, of tenant ${tenant_id}`)
    /**
     * The p99 of a hundred requests is nearly the slowest of them. A query over the target is therefore measured again
     * for longer.
     */
    const slowest = async (queries: Record<string, Query>, seconds: number) => {
      const found: [name: string, p99: number][] = []
      for (const [name, query] of Object.entries(queries)) {
        await latencies(query, seconds / 4)
        found.push([name, quantile(await latencies(query, seconds), 0.99)])
      }
      const over = found.filter(([, p99]) => p99 > mostMs)
      const before = over.map(([name, p99]) => `${name} ${milliseconds(p99)}`)
      for (const one of over) one[1] = quantile(await latencies(queries[one[0]] ?? {}, 8 * scale.seconds), 0.99)
      return { found: found.sort((a, b) => b[1] - a[1]), before }
    }
    const rows: Row[] = []
    const rowOf = (what: string, { found, before }: Awaited<ReturnType<typeof slowest>>) => {
      const [name, worst] = found[0] ?? ['', Number.NaN]
      rows.push({
        id: 'A1',
        work: `${work}, ${count.toLocaleString('en')} events, first page: ${what}`,
        figure: `${milliseconds(worst)} p99`,
        baseline: '–',
        ratio: null,
        target: `≤ ${mostMs} ms`,
        verdict: verdictOf(worst <= mostMs),
        note: `the slowest of ${found.length}, ${name}; then ${found
          .slice(1, 4)
          .map(([n, ms]) => `${n} ${milliseconds(ms)}`)
          .join(', ')}; one client${before.length > 0 ? `; asked again, longer: ${before.join(', ')} at first` : ''}`,
        rounds: Object.fromEntries(found.map(([n, ms]) => [n, [ms]])),
      })
    }
    rowOf('each filter', await slowest(single, scale.seconds))
    rowOf('each filter in other orders', await slowest(crossed(single, orders), scale.seconds))
    rowOf('any two filters', await slowest(pairs(), scale.seconds / 2))
    const cursor = await pageCursor(person, 999)
    const [first, far]: [number[], number[]] = [[], []]
    for (let i = 0; i < scale.rounds; i++) {
      first.push(median([...(await latencies({}, scale.seconds))]))
      far.push(median([...(await latencies({ cursor }, scale.seconds))]))
    }
    const ratio = median(far.map((ms, i) => ms / (first[i] ?? Number.NaN)))
    rows.push({
      id: 'A1',
      work: `${work}, page 1,000`,
      figure: milliseconds(median(far)),
      baseline: `${milliseconds(median(first))} page 1`,
      ratio,
      target: '0.8 to 1.25',
      verdict: verdictOf(ratio >= 0.8 && ratio <= 1.25),
      rounds: { first, far },
    })
    return rows
  },
}

const crossed = (queries: Record<string, Query>, others: Record<string, Query>): Record<string, Query> =>
  Object.fromEntries(
    Object.entries(queries).flatMap(([name, query]) =>
      Object.entries(others).map(([other, more]) => [`${name} ${other}`, { ...query, ...more }]),
    ),
  )

/** Every pair of filters with different parameters. */
function pairs(): Record<string, Query> {
  const all = Object.entries(single).slice(1)
  return Object.fromEntries(
    all.flatMap(([name, query], i) =>
      all
        .slice(i + 1)
        .filter(([, other]) => !Object.keys(other).some((key) => key in query))
        .map(([other, more]) => [`${name} and ${other}`, { ...query, ...more }]),
    ),
  )
}

const seed = (server: Server, count: number) =>
  server.withDatabase(async (db) => {
    const { rows } = await db.query<{ tenant_id: string }>(`select tenant_id from tenants where name = 'default'`)
    await seedAuditLog(db, rows[0]?.tenant_id ?? '', count)
  })

async function pageCursor(person: Client, pages: number): Promise<string> {
  let cursor: string | null = null
  for (let page = 0; page < pages; page++) {
    const query: Query = cursor === null ? {} : { cursor }
    const found = await person.listAuditEvents({ query: { limit: pageSize, ...query } })
    cursor = found.next_cursor
    if (cursor === null) throw new Error('the log is shorter than that')
  }
  return cursor ?? ''
}
