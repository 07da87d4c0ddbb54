import { subscribe } from 'node:diagnostics_channel'
import { type Gateway, openGateway } from '@holdfast/sdk'
import { Agent } from 'undici'
import { serveCalls } from './calls.ts'

type GatewayAccess = { url: string; tenantId: string; gateways: { id: string; secret: string }[] }
type Pulled = { ms: number; bytes: number; requests: number; peers: number; kind: string }

const opened: Gateway[] = []
let bytes = 0
let requests = 0
subscribe('undici:request:headers', (message) => {
  const { headers } = (message as { response: { headers: Buffer[] } }).response
  const at = headers.findIndex((h, i) => i % 2 === 0 && h.toString().toLowerCase() === 'content-length')
  bytes += Number(headers[at + 1]?.toString() ?? 0)
  requests++
})

const calls = {
  open: async ({ url, tenantId, gateways }: GatewayAccess): Promise<void> => {
    const dispatcher = new Agent({ keepAliveTimeout: 60_000 })
    opened.length = 0
    for (const { id, secret } of gateways)
      opened.push(openGateway({ baseUrl: url, tenantId, gatewayId: id, secret, dispatcher }))
  },
  /** Pulls with all gateways at once, or with the first `count` of them. */
  pull: async ({ count }: { count: number }): Promise<Pulled> => {
    ;[bytes, requests] = [0, 0]
    const started = performance.now()
    const changes = await Promise.all(opened.slice(0, count).map((gateway) => gateway.pull()))
    return {
      ms: performance.now() - started,
      bytes,
      requests,
      peers: opened[0]?.state?.peers.size ?? 0,
      kind: changes[0]?.kind ?? 'nothing',
    }
  },
}
export type GatewayCalls = typeof calls
serveCalls(calls)
