import { allInPlace, wordsRead } from './rig/audit-log.ts'
import { bundlePath, deviceGet, digestPath, seedFleet } from './rig/fleet.ts'
import { largeDocument } from './rig/policies.ts'
import { cpuSeconds } from './rig/process-tree.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, megabytes, microseconds, type Row } from './rig/result.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const devices = 10_000
const events = 200_000
const batch = 500

/** Figures of docs/deploy/sizing.md: CPU time for a request, memory, and the size of the database. */
export const sizing: Benchmark = {
  id: 'SIZING',
  work: 'CPU time for a request, memory, size of the database',
  run: async (bench) => {
    const server = await bench.startServer()
    const empty = await databaseBytes(server)
    const count = bench.scale.size(devices)
    bench.say(`${count} devices with keys, groups and postures`)
    const fleet = await seedFleet(server, { devices: count, directory: true, keys: true, posture: true })
    const withFleet = await databaseBytes(server)
    const { admin } = await openAdmin(server)
    const policy = largeDocument({ rules: 200, tests: 10, mark: 1 })
    await admin.publishPolicy({ body: { channel: 'stable', policy } })
    const { load } = startRig(bench)
    const cpuOf = async (requests: Buffer[]) => {
      const before = cpuSeconds(server.pid())
      const options = { port: server.port, connections: 64, once: true }
      rateOf(await load.call('run', { ...options, requests: pack(requests) }), 200)
      return (cpuSeconds(server.pid()) - before) / requests.length
    }
    const get = (path: string) => cpuOf(fleet.devices.map((device) => deviceGet(fleet, device, path)))
    await get(digestPath)
    const poll = await get(digestPath)
    const bundle = await get(bundlePath)
    const memory = server.residentBytes()
    bench.say('audit events')
    const pool = await admin.createGatewayPool({ body: { name: 'bench', region: { code: 'eu' } } })
    const secrets: string[] = []
    for (let n = 0; n < 16; n++) {
      const made = await admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name: `bench-${n}` } })
      secrets.push(made.secret)
    }
    const beforeEvents = await databaseBytes(server)
    const batches = Math.ceil(bench.scale.size(events) / batch)
    const reports = Array.from({ length: batches }, (_, n) => report(secrets[n % secrets.length]!, n))
    const event = (await cpuOf(reports)) / batch
    await allInPlace(server)
    await wordsRead(server)
    const eachEvent = ((await databaseBytes(server)) - beforeEvents) / (batches * batch)
    const rows = [
      row('poll of a device with proof, nothing new: CPU time', microseconds(poll)),
      row('fetch of a policy bundle with proof: CPU time', microseconds(bundle)),
      row('audit event reported by a gateway: CPU time until the answer', microseconds(event)),
      row(`memory of the server after all ${count.toLocaleString('en')} devices polled`, megabytes(memory)),
      row('size of an empty database', megabytes(empty)),
      row(
        `size of ${count.toLocaleString('en')} devices with users, groups and postures`,
        megabytes(withFleet - empty),
      ),
      row('size of 1,000,000 audit events with indexes and words', megabytes(eachEvent * 1e6)),
    ]
    await tableNotes(bench, server)
    return rows
  },
}

const row = (work: string, figure: string): Row => ({
  id: 'SIZING',
  work,
  figure,
  baseline: '–',
  ratio: null,
  target: '–',
  verdict: 'no baseline',
  note: 'CPU time is of the server and its PostgreSQL together',
})

const databaseBytes = (server: Server): Promise<number> =>
  server.withDatabase(async (db) => {
    await db.query('vacuum analyze')
    const { rows } = await db.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes')
    return Number(rows[0]!.bytes)
  })

/** Prints the largest tables. */
const tableNotes = ({ say }: Bench, server: Server): Promise<void> =>
  server.withDatabase(async (db) => {
    const { rows } = await db.query<{ name: string; mb: number }>(
      `select relname as name, round(pg_total_relation_size(oid) / 1048576.0) as mb from pg_class
       where relkind = 'r' order by pg_total_relation_size(oid) desc limit 8`,
    )
    say(rows.map(({ name, mb }) => `${name} ${mb} MB`).join(', '))
  })

function report(secret: string, n: number): Buffer {
  const at = new Date().toISOString()
  const sent = Array.from({ length: batch }, (_, i) => ({
    event_id: `sizing-${n}-${i}`,
    kind: 'gateway_report.traffic_denied',
    at,
    outcome: 'refused',
    target: { type: 'resource', id: `10.1.${i % 200}.7`, name: `resource ${i % 40}` },
    remote_ip: `198.51.100.${i % 250}`,
    details: { port: 443, protocol: 'tcp', rule: `rule ${i % 90}` },
  }))
  return rawRequest('POST', '/v1/audit/ingest', { authorization: `Bearer ${secret}` }, JSON.stringify({ events: sent }))
}
