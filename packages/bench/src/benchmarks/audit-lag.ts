import type { Client } from '@holdfast/sdk'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, milliseconds, perSecond, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'an audit event is written → it has its place'
const eventsPerSecond = 2000
const manyTenants = 100
/** Events of a request. */
const batch = 10
const mostMs = 500
const kind = 'gateway_report.traffic_denied'

/** How long the events that gateways report at a steady rate wait for their place, of one tenant and of many. */
export const auditLag: Benchmark = {
  id: 'A2',
  work,
  run: async (bench) => {
    const server = await bench.startServer()
    const { admin } = await openAdmin(server)
    const own = await gatewaySecret(admin)
    bench.say(`${manyTenants} tenants`)
    const others: string[] = []
    for (let i = 1; i < manyTenants; i++) {
      const tenant = { name: `tenant-${i}` }
      const made = await admin.changeTenant({
        body: { operation: 'create', tenant, administrator: { username: 'jane' } },
      })
      others.push(await gatewaySecret(admin, made.tenant.tenant_id))
    }
    bench.say(work)
    return [await measure(bench, server, [own]), await measure(bench, server, [own, ...others])]
  },
}

async function gatewaySecret(admin: Client, tenant_id?: string): Promise<string> {
  const query = tenant_id === undefined ? {} : { tenant_id }
  const pool = await admin.createGatewayPool({ query, body: { name: 'bench', region: { code: 'eu' } } })
  const params = { pool_id: pool.pool_id }
  return (await admin.createGateway({ query, params, body: { name: 'bench' } })).secret
}

async function measure(bench: Bench, server: Server, secrets: readonly string[]) {
  const { scale } = bench
  const { load } = startRig(bench)
  const seconds = scale.seconds * 4
  const p99s: number[] = []
  for (let round = 0; round <= scale.rounds; round++) {
    const since = await clockOf(server)
    const requests = Array.from({ length: (seconds * eventsPerSecond) / batch }, (_, i) =>
      report(secrets[i % secrets.length] ?? '', `${secrets.length}-${round}-${i}`),
    )
    const target = { port: server.port, connections: 32, requests: pack(requests) }
    rateOf(await load.call('pace', { ...target, seconds, perSecond: eventsPerSecond / batch }), 200)
    const p99 = await waited(server, since, requests.length * batch)
    // The first round warms up.
    if (round > 0) p99s.push(p99)
  }
  const worst = median(p99s)
  return {
    id: 'A2',
    work: `${work}, ${perSecond(eventsPerSecond)}, ${secrets.length === 1 ? 'one tenant' : `${secrets.length} tenants`}: p99`,
    figure: milliseconds(worst),
    baseline: '–',
    ratio: null,
    target: `≤ ${mostMs} ms`,
    verdict: verdictOf(worst <= mostMs),
    note: `from before its commit, requests of ${batch} events`,
    rounds: { p99s },
  }
}

function report(secret: string, name: string): Buffer {
  const at = new Date().toISOString()
  const events = Array.from({ length: batch }, (_, i) => ({ event_id: `${name}-${i}`, kind, at, details: { port: i } }))
  return rawRequest('POST', '/v1/audit/ingest', { authorization: `Bearer ${secret}` }, JSON.stringify({ events }))
}

const clockOf = (server: Server): Promise<Date> =>
  server.withDatabase(async (db) => {
    const { rows } = await db.query<{ now: Date }>('select now()')
    return rows[0]?.now ?? new Date()
  })

/** 99 of 100 events waited no longer than so many milliseconds; all of them are waited for. */
const waited = (server: Server, since: Date, count: number): Promise<number> =>
  server.withDatabase(async (db) => {
    for (;;) {
      const { rows } = await db.query<{ n: string; ms: number }>(
        `select count(*) as n, extract(epoch from percentile_disc(0.99) within group (order by sequenced_at - at))::float8 * 1000 as ms
         from audit_log where kind = $1 and at >= $2`,
        [kind, since],
      )
      const [found] = rows
      if (found && Number(found.n) >= count) return found.ms
    }
  })
