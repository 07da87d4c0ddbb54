import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@holdfast/sdk'
import { connections } from './p01-digest-poll.ts'
import { deviceGet, digestPath, type Fleet, seedFleet } from './rig/fleet.ts'
import { idleRate } from './rig/idle.ts'
import { plainDocument } from './rig/policies.ts'
import { cpuSeconds, ownCpuSeconds } from './rig/process-tree.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'
import { rateOf, startRig } from './rig/throughput.ts'

const work = 'many tenants'
/** Number of tenants that are created first, and of those created last; the two costs are compared. */
const compared = 50

type Reads = Record<string, Buffer>

/** P24: the cost of one tenant's requests among 1,000 other tenants, and the idle cost of those others. */
export const tenants: Benchmark = {
  id: 'P24',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const others = Math.max(2 * compared, scale.size(1_000))
    const server = await bench.startServer()
    const fleet = await seedFleet(server, { devices: 1000 })
    const { admin, apiKey } = await openAdmin(server)
    await admin.publishPolicy({ body: { channel: 'stable', policy: plainDocument(10) } })
    say('one tenant')
    const one = await measure(bench, server, fleet, await readsOf(admin, apiKey))
    say(`${others} tenants are created`)
    const created = await create(server, admin, others)
    say(`${others} more tenants`)
    const many = await measure(bench, server, fleet, await readsOf(admin, apiKey))
    return rowsOf({ one, many, created, others })
  },
}

/** Reads of an administrator. */
async function readsOf(admin: Client, apiKey: string): Promise<Reads> {
  const { tenant_id } = await admin.me()
  const get = (path: string) => rawRequest('GET', path, { authorization: `Bearer ${apiKey}` })
  const own = `/v1/admin/tenants/${tenant_id}`
  return {
    'list of tenants': get('/v1/admin/tenants?limit=1'),
    'status of the own limits': get(`${own}/entitlement/status`),
    'usage of 30 days': get(`${own}/usage`),
    'list of devices': get('/v1/admin/devices?limit=50'),
  }
}

/**
 * Returns the CPU milliseconds of creating a tenant with its administrator and keys, for the first and for the last
 * tenants.
 */
async function create(server: Server, admin: Client, count: number) {
  const made = async (from: number, to: number) => {
    const before = cpuSeconds(server.pid())
    for (let i = from; i < to; i++)
      await admin.changeTenant({
        body: { operation: 'create', tenant: { name: `tenant-${i}` }, administrator: { username: 'jane' } },
      })
    return ((cpuSeconds(server.pid()) - before) * 1000) / (to - from)
  }
  const first = await made(0, compared)
  await made(compared, count - compared)
  return { first, last: await made(count - compared, count) }
}

async function measure(bench: Bench, server: Server, fleet: Fleet, reads: Reads) {
  const { scale } = bench
  const startSeconds = await server.restart()
  // A heartbeat names each tenant that changed within the last five minutes.
  await delay(scale.quick ? 10_000 : 330_000)
  const idle = await idleRate(server, scale.quick ? 5 : 60)
  const bytes = server.residentBytes()
  const { load } = startRig(bench)
  const polls = pack(fleet.devices.map((device) => deviceGet(fleet, device, digestPath)))
  const poll = await cpuPer(bench, server, load, polls, ownCpuSeconds)
  const read = new Map<string, number>()
  for (const [name, request] of Object.entries(reads))
    read.set(name, await cpuPer(bench, server, load, pack([request]), cpuSeconds))
  return { startSeconds, idle: idle.all, bytes, poll, read }
}

/** Returns the CPU microseconds of one answer. */
async function cpuPer(
  { scale }: Bench,
  server: Server,
  load: ReturnType<typeof startRig>['load'],
  requests: ReturnType<typeof pack>,
  cpu: (pid: number) => number,
): Promise<number> {
  const { port } = server
  rateOf(await load.call('run', { port, connections, requests, once: true }), 200)
  const each: number[] = []
  for (let round = 0; round < scale.rounds; round++) {
    const before = cpu(server.pid())
    const done = await load.call('run', { port, connections, requests, seconds: scale.seconds })
    rateOf(done, 200)
    each.push(((cpu(server.pid()) - before) * 1e6) / done.answered)
  }
  return median(each)
}

type Measured = Awaited<ReturnType<typeof measure>>
function rowsOf({
  one,
  many,
  created,
  others,
}: {
  one: Measured
  many: Measured
  created: { first: number; last: number }
  others: number
}): Row[] {
  const compare = (what: string, figure: number, baseline: number, unit: string, most: number, note?: string): Row => ({
    id: 'P24',
    work: `${work}: ${what}, ${others.toLocaleString('en')} more tenants`,
    figure: `${figure.toFixed(1)} ${unit}`,
    baseline: `${baseline.toFixed(1)} ${unit} with one`,
    ratio: figure / baseline,
    target: `≤ ${most}`,
    verdict: verdictOf(figure / baseline <= most),
    ...(note !== undefined && { note }),
  })
  const kilobytes = (many.bytes - one.bytes) / 1024 / others
  return [
    compare('CPU of a poll', many.poll, one.poll, 'µs', 1.2),
    ...[...many.read].map(([name, us]) =>
      compare(`CPU of the ${name}`, us, one.read.get(name) ?? Number.NaN, 'µs', 1.2, 'server with its PostgreSQL'),
    ),
    {
      ...compare('CPU of creating one', created.last, created.first, 'ms', 1.2),
      baseline: `${created.first.toFixed(1)} ms for each of the first ${compared}`,
      note: 'with keys, certificates, an administrator and the hash of their password',
    },
    {
      id: 'P24',
      work: `${work}: memory of an idle one`,
      figure: `${kilobytes.toFixed(1)} KB`,
      baseline: '–',
      ratio: null,
      target: '≤ 10 KB',
      verdict: verdictOf(kilobytes <= 10),
      note: `resident after a start, less what it is with one tenant, by ${others}; ready ${many.startSeconds.toFixed(1)} s after the start (${one.startSeconds.toFixed(1)} s with one)`,
    },
    {
      id: 'P24',
      work: `${work}: idle CPU of the server with its PostgreSQL`,
      figure: `${many.idle.toFixed(1)} ms/s`,
      baseline: `${one.idle.toFixed(1)} ms/s with one`,
      ratio: many.idle / one.idle,
      target: '≤ 10 ms/s',
      verdict: verdictOf(many.idle <= 10),
      note: 'heartbeats that compare where all tenants stand, and a minute of jobs',
    },
  ]
}
