import type { Client } from '@holdfast/sdk'
import { runByDriver } from './rig/driver-load.ts'
import { seedFleet } from './rig/fleet.ts'
import type { Load } from './rig/load-process.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, perSecond, type Row, verdictOf } from './rig/result.ts'
import { alternate, median, medianRatio } from './rig/rounds.ts'
import { openAdmin } from './rig/server.ts'
import { busyNote, rateOf, startRig } from './rig/throughput.ts'

const work = 'a page of 100 of the device list, filtered and sorted'
const fullFleet = 1_000_000
const pageSize = 100
const clients = 8
const filter = { status: 'active', sort: 'name' } as const

/** P12: a page costs one index range, at any position in the list. Read by session, which writes no audit event. */
export const deviceList: Benchmark = { id: 'P12', work, run }

async function run(bench: Bench): Promise<Row[]> {
  const { scale, say } = bench
  const count = scale.size(fullFleet)
  const server = await bench.startServer()
  say(`a fleet of ${count} devices`)
  const { tenantId } = await seedFleet(server, { devices: count, asking: 1 })
  const { person, cookie } = await openAdmin(server)
  const pages = count / pageSize
  say(`to page ${pages}`)
  const cursor = await lastPage(person, pages)
  const { load } = startRig(bench)
  const databaseUrl = await server.databaseUrl()
  const loads: Load[] = []
  const listed = (more: Record<string, string>) => async () => {
    const query = new URLSearchParams({ ...filter, limit: String(pageSize), ...more })
    const requests = pack([rawRequest('GET', `/v1/admin/devices?${query}`, { cookie })])
    const done = await load.call('run', { port: server.port, connections: clients, requests, seconds: scale.seconds })
    loads.push(done)
    return rateOf(done, 200)
  }
  const [first, last] = [listed({}), listed({ cursor })]
  say('warming up')
  await first()
  await last()
  say(work)
  const found = await alternate(scale.rounds, {
    first,
    last,
    sql: () => runByDriver({ databaseUrl, script: () => statements(tenantId), clients, seconds: scale.seconds }),
  })
  const ratio = medianRatio(found.first, found.sql)
  const flat = medianRatio(found.last, found.first)
  const fleet = `${count.toLocaleString('en')} devices`
  return [
    {
      id: 'P12',
      work: `${work}, page 1 of ${fleet}`,
      figure: perSecond(median(found.first)),
      baseline: `${perSecond(median(found.sql))} the same rows by Node's driver, unparsed and unchecked`,
      ratio,
      target: '≥ 0.5',
      verdict: verdictOf(ratio >= 0.5),
      note: `${clients} at once; ${busyNote(loads)}`,
      rounds: found,
    },
    {
      id: 'P12',
      work: `the same, page ${pages.toLocaleString('en')}`,
      figure: perSecond(median(found.last)),
      baseline: `${perSecond(median(found.first))} page 1`,
      ratio: flat,
      target: '0.8 to 1.25',
      verdict: verdictOf(flat >= 0.8 && flat <= 1.25),
    },
  ]
}

/** Finds the cursor of the last page as any client does: page by page. */
async function lastPage(person: Client, pages: number): Promise<string> {
  let cursor: string | null = null
  for (let at = 0; at < pages - 1; ) {
    const limit = Math.min(2 * pageSize, (pages - 1 - at) * pageSize)
    const page = await person.listDevices({ query: { ...filter, limit, ...(cursor !== null && { cursor }) } })
    cursor = page.next_cursor
    at += limit / pageSize
  }
  if (cursor === null) throw new Error('the list is shorter than its fleet')
  return cursor
}

/** The SQL statements of page 1. */
const statements = (tenantId: string): string[] => [
  `begin; set local holdfast.tenant = '${tenantId}'`,
  `select d.device_id, d.user_id, d.name, d.platform, d.os_version, d.client_version, d.serial, d.tags, d.group_ids,
     d.status, d.channel, d.jkt, d.wireguard_public_key, d.address_number, d.credential_expires_at,
     d.credential_renew_after, d.enrolled_method, d.token_id, d.enrolled_at, d.updated_at,
     a.last_seen_at, a.applied_digest, a.applied_at, p.verdict, p.reported_at
   from devices d
   left join device_activity a on a.tenant_id = d.tenant_id and a.device_id = d.device_id
   left join device_postures p on p.tenant_id = d.tenant_id and p.device_id = d.device_id
   where d.tenant_id = '${tenantId}' and d.status = 'active'
   order by d.name_key, d.device_id limit ${pageSize + 1}`,
  'commit',
]
