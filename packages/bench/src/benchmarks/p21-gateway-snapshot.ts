import { startHelper } from './rig/calls.ts'
import { loadCore, measuredCore, moveToCores } from './rig/cores.ts'
import { seedFleet, uuidOf } from './rig/fleet.ts'
import type { GatewayCalls } from './rig/gateway-helper.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, megabytes, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { openAdmin } from './rig/server.ts'
import { startRig } from './rig/throughput.ts'
import { typeId } from './rig/type-id.ts'

const work = 'gateway snapshots'
const gatewayCount = 10
const longestStall = 50
/** Largest share of the snapshot's size for a gateway that missed 1 % of the fleet. */
const mostMissed = 0.05
const batch = 1000

/**
 * P21: ten gateways start at once on a large pool. A probe on another connection measures how long nothing is answered.
 */
export const gatewaySnapshot: Benchmark = {
  id: 'P21',
  work,
  run: async (bench) => {
    const rows: Row[] = []
    for (const devices of bench.scale.quick ? [20_000] : [100_000, 1_000_000])
      rows.push(...(await measure(bench, devices)))
    return rows
  },
}

async function measure(bench: Bench, devices: number): Promise<Row[]> {
  const { say } = bench
  const server = await bench.startServer()
  say(`a fleet of ${devices} devices`)
  const fleet = await seedFleet(server, { devices })
  // The longest pause is that of the garbage collector; its threads need a second core.
  moveToCores([measuredCore, loadCore], server.pid())
  const { admin } = await openAdmin(server)
  const pool = await admin.createGatewayPool({ body: { name: 'all', region: { code: 'eu' } } })
  const rules = [{ id: 'all', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'] }]
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const gateways: { id: string; secret: string }[] = []
  for (let i = 0; i < gatewayCount; i++) {
    const made = await admin.createGateway({ params: { pool_id: pool.pool_id }, body: { name: `g${i}` } })
    gateways.push({ id: made.gateway.gateway_id, secret: made.secret })
  }
  const helper = startHelper<GatewayCalls>('gateway-helper.ts', loadCore)
  bench.defer(helper.stop)
  const { load } = startRig(bench)
  const health = pack([rawRequest('GET', '/healthz', {})])
  /** Runs the work, and measures the longest time without an answer of the server. */
  const watched = async <T>(todo: Promise<T>): Promise<{ done: T; stall: number }> => {
    let isOver = false
    const over = todo.finally(() => {
      isOver = true
    })
    over.catch(() => {})
    let stall = 0
    do {
      const { latenciesMs } = await load.call('run', {
        port: server.port,
        connections: 1,
        requests: health,
        seconds: 1,
      })
      for (const ms of latenciesMs) stall = Math.max(stall, ms)
    } while (!isOver)
    return { done: await over, stall }
  }
  const quiet = await watched(Promise.resolve())
  await helper.call('open', { url: server.url, tenantId: typeId('tenant', fleet.tenantId), gateways })
  say('ten gateways start')
  const first = await watched(helper.call('pull', { count: gatewayCount }))
  if (first.done.peers !== devices) throw new Error(`${first.done.peers} peers, expected ${devices}`)
  const perGateway = first.done.bytes / gatewayCount
  say('one per cent of the fleet is suspended')
  const missing = Array.from({ length: Math.floor(devices / 100) }, (_, i) =>
    typeId('device', uuidOf('device', i * 100)),
  )
  for (let at = 0; at < missing.length; at += batch)
    await admin.changeDevices({
      body: { operation: 'suspend', device_ids: missing.slice(at, at + batch), reason: 'bench' },
    })
  const missed = await watched(helper.call('pull', { count: 1 }))
  const share = missed.done.bytes / perGateway
  const named = `${devices.toLocaleString('en')} peers, ${gatewayCount} gateways`
  return [
    {
      id: 'P21',
      work: `${named} start at once: longest time without an answer`,
      figure: milliseconds(first.stall),
      baseline: `${milliseconds(quiet.stall)} before`,
      ratio: null,
      target: `≤ ${longestStall} ms`,
      verdict: verdictOf(first.stall <= longestStall),
      note: `${milliseconds(first.done.ms)} until the last has everything, ${megabytes(perGateway)} and ${first.done.requests / gatewayCount} requests each`,
    },
    {
      id: 'P21',
      work: `${named}: bytes for one that missed 1 % of the devices`,
      figure: `${(missed.done.bytes / 1024).toFixed(0)} KB`,
      baseline: megabytes(perGateway),
      ratio: share,
      target: `≤ ${mostMissed}`,
      verdict: verdictOf(share <= mostMissed),
      note: `a ${missed.done.kind}, ${milliseconds(missed.done.ms)}, longest time without an answer ${milliseconds(missed.stall)}`,
    },
  ]
}
