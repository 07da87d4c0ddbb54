import type { Client } from '@holdfast/sdk'
import { allInPlace } from './rig/audit-log.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'an audit event is written → it has its place'
const manyTenants = 100
const mostMs = 500
/** Requests per second, of all tenants together. Each gateway report carries ten events. */
const readsPerSecond = 400
const reportsPerSecond = 100
const batch = 10
const kinds = ['api_key.used', 'gateway_report.traffic_denied'] as const

/** The credentials of one tenant. */
type Callers = { key: string; gateway: string }

/**
 * Measures the time until events get their sequence numbers, for one tenant and for many. Events of reads by API key
 * first enter the arrivals; events of gateway reports get their numbers in their own commit.
 */
export const auditLag: Benchmark = {
  id: 'A2',
  work,
  run: async (bench) => {
    const server = await bench.startServer()
    const { admin } = await openAdmin(server)
    const own = await callersOf(admin)
    bench.say(`${manyTenants} tenants`)
    const others: Callers[] = []
    for (let i = 1; i < manyTenants; i++) {
      const tenant = { name: `tenant-${i}` }
      const made = await admin.changeTenant({
        body: { operation: 'create', tenant, administrator: { username: 'jane' } },
      })
      others.push(await callersOf(admin, made.tenant.tenant_id))
    }
    bench.say(work)
    return [...(await measure(bench, server, [own])), ...(await measure(bench, server, [own, ...others]))]
  },
}

async function callersOf(admin: Client, tenant_id?: string): Promise<Callers> {
  const query = tenant_id === undefined ? {} : { tenant_id }
  const pool = await admin.createGatewayPool({ query, body: { name: 'bench', region: { code: 'eu' } } })
  const params = { pool_id: pool.pool_id }
  const gateway = (await admin.createGateway({ query, params, body: { name: 'bench' } })).secret
  const key = (await admin.createApiKey({ query, body: { name: 'bench', role: 'viewer' } })).secret
  return { key, gateway }
}

async function measure(bench: Bench, server: Server, callers: readonly Callers[]): Promise<Row[]> {
  const { scale } = bench
  const { load } = startRig(bench)
  const seconds = scale.seconds * 4
  const found = kinds.map((kind) => ({ kind, p99s: [] as number[] }))
  for (let round = 0; round <= scale.rounds; round++) {
    const since = await clockOf(server)
    const times = Array.from({ length: seconds * reportsPerSecond }, (_, i) => i)
    const requests = times.flatMap((i) => {
      const { key, gateway } = callers[i % callers.length]!
      const reads = Array.from({ length: readsPerSecond / reportsPerSecond }, () => read(key))
      return [report(gateway, `${callers.length}-${round}-${i}`), ...reads]
    })
    const target = { port: server.port, connections: 32, requests: pack(requests) }
    rateOf(await load.call('pace', { ...target, seconds, perSecond: readsPerSecond + reportsPerSecond }), 200)
    await allInPlace(server)
    // The first round warms up.
    for (const { kind, p99s } of round > 0 ? found : []) p99s.push(await waited(server, kind, since))
  }
  return found.map(({ kind, p99s }) => {
    const worst = median(p99s)
    return {
      id: 'A2',
      work: `${work}: ${kind}, ${callers.length === 1 ? 'one tenant' : `${callers.length} tenants`}: p99`,
      figure: milliseconds(worst),
      baseline: '–',
      ratio: null,
      target: `≤ ${mostMs} ms`,
      verdict: verdictOf(worst <= mostMs),
      note: `from before its commit; ${readsPerSecond} reads by API key and ${reportsPerSecond} reports of ${batch} events a second`,
      rounds: { p99s },
    }
  })
}

const read = (key: string) => rawRequest('GET', '/v1/admin/me', { authorization: `Bearer ${key}` })

function report(secret: string, name: string): Buffer {
  const at = new Date().toISOString()
  const events = Array.from({ length: batch }, (_, i) => ({
    event_id: `${name}-${i}`,
    kind: kinds[1],
    at,
    details: { port: i },
  }))
  return rawRequest('POST', '/v1/audit/ingest', { authorization: `Bearer ${secret}` }, JSON.stringify({ events }))
}

const clockOf = (server: Server): Promise<Date> =>
  server.withDatabase(async (db) => {
    const { rows } = await db.query<{ now: Date }>('select now()')
    return rows[0]?.now ?? new Date()
  })

/** The 99th percentile of the wait of a kind of events, in ms. */
const waited = (server: Server, kind: string, since: Date): Promise<number> =>
  server.withDatabase(async (db) => {
    const { rows } = await db.query<{ ms: number }>(
      `select extract(epoch from percentile_disc(0.99) within group (order by sequenced_at - at))::float8 * 1000 as ms
       from audit_log where kind = $1 and at >= $2`,
      [kind, since],
    )
    return rows[0]?.ms ?? Number.NaN
  })
