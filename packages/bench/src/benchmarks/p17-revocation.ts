import { setTimeout as delay } from 'node:timers/promises'
import { createAdmin, type DeviceState, enrollDevice, openGateway } from '@holdfast/sdk'
import { createPostgres } from '../deployment/postgres.ts'
import { startStand } from '../deployment/stand.ts'
import { type Asked, askStraight } from '../trial/ask.ts'
import { type Benchmark, milliseconds, type Row, verdictOf } from './rig/result.ts'
import { median } from './rig/rounds.ts'

const work = 'revocation on 3 replicas'
const target = 1_000

/**
 * P17: time from the answer to the revocation until the last replica refuses the device, and until the last gateway has
 * dropped it.
 */
export const revocation: Benchmark = {
  id: 'P17',
  work,
  run: async (bench) => {
    const { scale, say } = bench
    const count = scale.quick ? 5 : 30
    const postgres = await createPostgres()
    bench.defer(postgres.remove)
    const stand = await startStand(postgres, { replicas: 3 })
    bench.defer(stand.remove)
    const baseUrl = stand.url
    const admin = createAdmin({ baseUrl, apiKey: await stand.makeApiKey() })
    const { tenant_id: tenantId } = await admin.me()
    const { pool_id } = await admin.createGatewayPool({ body: { name: 'pool', region: { code: 'eu' } } })
    const policy = {
      schema: 'holdfast.policy/1' as const,
      resources: { all: { cidrs: ['10.0.0.0/8'], pool: 'pool' } },
      rules: [{ id: 'all', action: 'allow' as const, from: { any: true }, to: ['all'] }],
    }
    await admin.publishPolicy({ body: { channel: 'stable', policy } })
    const stop = new AbortController()
    bench.defer(async () => stop.abort())
    const gone = new Map<string, number[]>()
    for (const [n] of stand.nodes.entries()) {
      const endpoints = [{ host: `g${n}.vpn.example`, port: 51_820, proto: 'udp' as const }]
      const made = await admin.createGateway({ params: { pool_id }, body: { name: `g${n}`, endpoints } })
      const gateway = openGateway({ baseUrl, tenantId, gatewayId: made.gateway.gateway_id, secret: made.secret })
      void gateway
        .runPulling({
          signal: stop.signal,
          onChange: ({ removedPeers, revokedDevices }) => {
            for (const id of new Set([...removedPeers, ...revokedDevices]))
              gone.set(id, [...(gone.get(id) ?? []), performance.now()])
          },
        })
        .catch(() => {})
    }
    const { secret: token } = await admin.generateToken({ body: { name: 'bench', max_uses: 0 } })
    const devices: DeviceState[] = []
    for (let i = 0; i < count; i++) {
      const device = { name: `laptop-${i}`, platform: 'linux' as const }
      await enrollDevice({ baseUrl, token, device, store: { save: (state) => void devices.splice(i, 1, state) } })
    }
    await delay(2_000)
    const asks = stand.nodes.map(({ replica }) => askStraight(replica.port))
    bench.defer(() => Promise.all(asks.map(({ close }) => close())))
    const refused: number[] = []
    const released: number[] = []
    say(`${count} devices are revoked`)
    for (const state of devices) {
      await admin.changeDevice({ body: { operation: 'revoke', device_id: state.deviceId, reason: 'bench' } })
      const at = performance.now()
      const each = await Promise.all(asks.map(({ ask }) => untilRefused(() => ask(state), at)))
      refused.push(Math.max(...each))
      for (; (gone.get(state.deviceId)?.length ?? 0) < asks.length && performance.now() - at < 10_000; ) await delay(5)
      const times = gone.get(state.deviceId) ?? []
      released.push(times.length < asks.length ? Number.POSITIVE_INFINITY : Math.max(0, Math.max(...times) - at))
    }
    return [row('→ refused by each replica', refused), row('→ in the delta of each gateway', released)]
  },
}

async function untilRefused(ask: () => Promise<Asked>, since: number): Promise<number> {
  for (;;) {
    const { status } = await ask()
    const passed = performance.now() - since
    if (status === 401) return passed
    if (passed > 10_000) return Number.POSITIVE_INFINITY
  }
}

const row = (what: string, values: number[]): Row => ({
  id: 'P17',
  work: `${work} ${what}`,
  figure: `${milliseconds(Math.max(...values))} at most, ${milliseconds(median(values))} in the middle`,
  baseline: '–',
  ratio: null,
  target: '≤ 1 s',
  verdict: verdictOf(Math.max(...values) <= target),
  note: `${values.length} devices one after the other, from the answer to the revocation`,
  rounds: { each: values },
})
