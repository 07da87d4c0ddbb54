import type { Gateway } from '@holdfast/sdk'
import { open, withGateway } from './gateways.ts'
import { type Kit, times } from './kit.ts'
import { until } from './promptly.ts'

/** Gateways of one pool that follow their policy and say at once what they enforce, until the test ends. */
export async function followingGateways(kit: Kit, count: number) {
  const first = await withGateway(kit, 'gw-0', 'pool')
  const others = await times(count - 1, async (i) => {
    const made = await kit.admin.createGateway({
      params: { pool_id: first.pool.pool_id },
      body: { name: `gw-${i + 1}`, public_key: Buffer.alloc(32, i + 1).toString('base64') },
    })
    return { gateway: made.gateway, secret: made.secret }
  })
  const ending = new AbortController()
  const applied: number[] = times0(count)
  const gateways = [first, ...others].map((made, i) => {
    const gateway = open(kit, made)
    const { gateway_id } = made.gateway
    const pulling = gateway.runPulling({
      signal: ending.signal,
      onChange: () => {},
      onApplied: async (seq) => {
        await gateway.heartbeat({ active_sessions: 0 })
        applied[i] = seq
      },
    })
    return { gateway, pulling, gateway_id }
  })
  kit.after(async () => {
    ending.abort()
    await Promise.all(gateways.map((g) => g.pulling))
  })
  await until(() => applied.every((seq) => seq > 0) && kit.app.gateways.waiting() === count, 'all gateways follow')
  return gateways.map(({ gateway, gateway_id }) => ({ gateway, gateway_id }))
}
const times0 = (n: number): number[] => Array.from({ length: n }, () => 0)
export type Following = { gateway: Gateway; gateway_id: string }
