import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { createProof } from '@holdfast/crypto/dpop'
import { type Client, openGateway } from '@holdfast/sdk'
import { startTcpProxy } from '../deployment/tcp-proxy.ts'
import { startHelper } from './rig/calls.ts'
import { loadCore } from './rig/cores.ts'
import type { DevicesCalls, WaitingDevice } from './rig/devices-process.ts'
import { bundlePath } from './rig/fleet.ts'
import { idleRate } from './rig/idle.ts'
import type { LoadCalls } from './rig/load-process.ts'
import { countBackends, cpuSeconds, postgresBytes } from './rig/process-tree.ts'
import { pack, rawRequest } from './rig/requests.ts'
import { type Bench, type Benchmark, megabytes, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'
import { openAdmin, type Server } from './rig/server.ts'

const work = 'a small fleet: 1,000 devices, 3 gateways'
const gatewayCount = 3
const teams = 10
const enrollPath = '/v1/enroll'
const longestWait = 300
const clock = () => Number(process.hrtime.bigint()) / 1e6

/** The cost of a small deployment: the server with its PostgreSQL, and the load programs separately. */
export const small: Benchmark = {
  id: 'SMALL',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const count = Math.max(200, scale.size(1_000))
    const server = await bench.startServer()
    await delay(10_000)
    const empty = { server: server.residentBytes(), postgres: postgresBytes(server.pid()) }
    const emptyIdle = await idleRate(server, scale.quick ? 5 : 20)
    const { admin } = await openAdmin(server)
    say(`${count} devices enroll`)
    const { devices, cpuMs } = await enroll(bench, server, admin, count)
    const gateways = await startGateways(bench, server, admin)
    await admin.publishPolicy({ body: { channel: 'stable', policy: documentOf(443) } })
    say('devices and gateways wait')
    const waiting = startHelper<DevicesCalls>('devices-process.ts', loadCore)
    bench.defer(waiting.stop)
    const { port, url } = server
    await waiting.call('start', { port, url, path: bundlePath, seconds: longestWait, devices })
    await gateways.settled(count)
    await delay(5_000)
    say('idle')
    const idle = await idleRate(server, scale.quick ? 10 : 60)
    const connected = { server: server.residentBytes(), postgres: postgresBytes(server.pid()) }
    const backends = countBackends(server.pid())

    const answered: number[] = []
    const last: number[] = []
    const lastGateway: number[] = []
    const cpu: number[] = []
    const kilobytes: number[] = []
    for (let round = 0; round < scale.rounds; round++) {
      say(`one port of one rule changes, ${round + 1}`)
      await waiting.call('forget', null)
      const bytes = gateways.bytes()
      const cpuBefore = cpuSeconds(server.pid())
      const started = clock()
      const publishing = admin.publishPolicy({ body: { channel: 'stable', policy: documentOf(8443 + round) } })
      const told = gateways.next()
      await publishing
      answered.push(clock() - started)
      lastGateway.push((await told) - started)
      let all = await waiting.call('changed', null)
      for (const giveUp = clock() + 60_000; all.devices < count && clock() < giveUp; ) {
        await delay(20)
        all = await waiting.call('changed', null)
      }
      if (all.devices < count) throw new Error(`only ${all.devices} of ${count} devices heard of the change`)
      last.push(all.lastAt - started)
      await delay(3_000)
      const spent = clock() - started
      cpu.push(cpuSeconds(server.pid()) - cpuBefore - (idle.all * spent) / 1_000_000)
      kilobytes.push((gateways.bytes() - bytes) / gatewayCount / 1024)
    }
    say('lists')
    const list = await listCpu(server, admin, scale.rounds)
    const other = await waiting.call('counts', null)
    const { row } = rowsFor(count)
    const memory = (bytes: { server: number; postgres: number }) =>
      `${megabytes(bytes.server)} + ${megabytes(bytes.postgres)} PostgreSQL`
    return [
      row('enrollment, CPU of the server per device', `${cpuMs.toFixed(2)} ms`, '≤ 2.5 ms', cpuMs <= 2.5),
      row(
        'one port of one rule changed: publish answered',
        milliseconds(median(answered)),
        '≤ 24 ms',
        median(answered) <= 24,
        answered,
      ),
      row(
        'the same: last device has it',
        milliseconds(median(last)),
        '≤ 280 ms',
        median(last) <= 280,
        last,
        `last gateway ${milliseconds(median(lastGateway))}`,
      ),
      row(
        'the same: CPU of the server',
        milliseconds(median(cpu) * 1000),
        '≤ 300 ms',
        median(cpu) <= 0.3,
        cpu.map((s) => s * 1000),
      ),
      row(
        'the same: to a gateway',
        `${median(kilobytes).toFixed(1)} KB`,
        '≤ 5 KB',
        median(kilobytes) <= 5,
        kilobytes,
        'bytes on its connection, heads included',
      ),
      row(
        'idle, every device waiting: CPU of the server',
        `${idle.all.toFixed(1)} ms/s`,
        '≤ 3 ms/s',
        idle.all <= 3,
        [idle.all],
        `PostgreSQL ${idle.postgres.toFixed(1)} of it; ${emptyIdle.all.toFixed(1)} ms/s without a device, PostgreSQL ${emptyIdle.postgres.toFixed(1)}; waits of ${longestWait} s`,
      ),
      row(
        'memory, all connected',
        memory(connected),
        '≤ 150 MB + PostgreSQL',
        connected.server <= 150 * 2 ** 20,
        [connected.server],
        `${backends} connections to PostgreSQL`,
      ),
      row('memory, empty', memory(empty), '≤ 100 MB + PostgreSQL', empty.server <= 100 * 2 ** 20, [empty.server]),
      row(
        'list of all devices: CPU of the server',
        milliseconds(list),
        '≤ 50 ms',
        list <= 50,
        [list],
        `in pages of 200; ${other.other} answers to devices were neither 200 nor 304`,
      ),
    ]
  },
}

const rowsFor = (count: number) => ({
  row: (what: string, figure: string, target: string, met: boolean, rounds: number[] = [], note = ''): Row => ({
    id: 'SMALL',
    work: what,
    figure,
    baseline: '–',
    ratio: null,
    target,
    verdict: verdictOf(met),
    note: [`${count} devices, ${gatewayCount} gateways`, note].filter(Boolean).join('; '),
    rounds: { each: rounds },
  }),
})

/** A policy of ten teams, selected by tag, and one rule for everybody with a port that changes. */
const documentOf = (port: number): PolicyDocument => ({
  schema: 'holdfast.policy/1',
  resources: {
    shared: { cidrs: ['10.0.0.0/24'], pool: 'pool' },
    ...Object.fromEntries(
      Array.from({ length: teams }, (_, n) => [`app-${n}`, { cidrs: [`10.1.${n}.0/24`], pool: 'pool' }]),
    ),
  },
  rules: [
    { id: 'everybody', action: 'allow', from: { any: true }, to: ['shared'], ports: [`tcp/${port}`] },
    ...Array.from({ length: teams }, (_, n) => ({
      id: `team-${n}`,
      action: 'allow' as const,
      from: { tags: [`team-${n}`] },
      to: [`app-${n}`],
      ports: ['tcp/443'],
    })),
  ],
})

async function enroll(bench: Bench, server: Server, admin: Client, count: number) {
  const load = startHelper<LoadCalls>('load-process.ts', loadCore)
  bench.defer(load.stop)
  const tokens: string[] = []
  for (let n = 0; n < teams; n++)
    tokens.push((await admin.generateToken({ body: { name: `team-${n}`, max_uses: 0, tags: [`team-${n}`] } })).secret)
  const keys = Array.from({ length: count }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
  const request = (i: number) => {
    const token = tokens[i % teams] ?? ''
    const proof = { method: 'POST', url: server.url + enrollPath, accessToken: token, now: new Date() }
    const body = JSON.stringify({ device: { name: `laptop-${i}`, platform: 'linux' } })
    return rawRequest(
      'POST',
      enrollPath,
      { authorization: `Bearer ${token}`, dpop: createProof(keys[i]!, proof) },
      body,
    )
  }
  // Eight connections enroll, each one device after the other, as people arrive; P7 measures a crowd.
  const requests = pack(keys.map((_, i) => request(i)))
  const before = cpuSeconds(server.pid())
  const credentials = await load.call('collect', {
    port: server.port,
    connections: 8,
    requests,
    pattern: '"credential":"([^"]+)"',
  })
  const cpuMs = ((cpuSeconds(server.pid()) - before) * 1000) / count
  const devices = credentials.map((credential, i): WaitingDevice => {
    if (!credential) throw new Error(`device ${i} did not enroll`)
    return { credential, privateKey: keys[i]!.export({ format: 'pem', type: 'pkcs8' }) as string }
  })
  await load.stop()
  return { devices, cpuMs }
}

async function startGateways(bench: Bench, server: Server, admin: Client) {
  const proxy = await startTcpProxy(server.port)
  bench.defer(proxy.close)
  const stop = new AbortController()
  bench.defer(async () => stop.abort())
  const { tenant_id: tenantId } = await admin.me()
  const { pool_id } = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
  let waiting: { left: Set<number>; resolve: (at: number) => void } | undefined
  const all: ReturnType<typeof openGateway>[] = []
  for (let n = 0; n < gatewayCount; n++) {
    const endpoints = [{ host: `g${n}.vpn.example`, port: 51_820, proto: 'udp' as const }]
    const made = await admin.createGateway({ params: { pool_id }, body: { name: `g${n}`, endpoints } })
    const baseUrl = `http://127.0.0.1:${proxy.port}`
    const gateway = openGateway({ baseUrl, tenantId, gatewayId: made.gateway.gateway_id, secret: made.secret })
    all.push(gateway)
    const onChange = () => {
      waiting?.left.delete(n)
      if (waiting?.left.size === 0) waiting.resolve(clock())
    }
    void gateway.runPulling({ signal: stop.signal, onChange, wait: longestWait }).catch(() => {})
    const beat = setInterval(
      () => void gateway.heartbeat({ active_sessions: 0, version: 'bench' }).catch(() => {}),
      20_000,
    )
    bench.defer(async () => clearInterval(beat))
  }
  return {
    bytes: proxy.bytesBack,
    /** Settles when every gateway has at least this number of peers. */
    settled: async (peers: number): Promise<void> => {
      for (const giveUp = clock() + 60_000; clock() < giveUp; await delay(50))
        if (all.every((gateway) => (gateway.state?.peers.size ?? 0) >= peers)) return
      throw new Error('the gateways did not get their peers')
    },
    /** Settles when the last gateway has received the next change. */
    next: (): Promise<number> =>
      new Promise((resolve) => {
        waiting = { left: new Set(all.keys()), resolve }
      }),
  }
}

/** Returns the CPU milliseconds of reading the whole list once. */
async function listCpu(server: Server, admin: Client, rounds: number): Promise<number> {
  const each: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = cpuSeconds(server.pid())
    // Repeated, because the system counts CPU time in hundredths of a second.
    for (let i = 0; i < 5; i++)
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: { next_cursor: string | null } = await admin.listDevices({
          query: { limit: 200, ...(cursor && { cursor }) },
        })
        cursor = page.next_cursor
      }
    each.push(((cpuSeconds(server.pid()) - before) * 1000) / 5)
  }
  return median(each)
}
