import { randomBytes } from 'node:crypto'
import { type Gateway, openGateway } from '@holdfast/sdk'
import { encodeId, newUuid } from '../../../src/kernel/ids.ts'
import type { Kit, Replica } from '../deployment/deployment.ts'

export const region = { code: 'eu-1', name: 'Frankfurt', lat: 50.1, lon: 8.7 }

export const newWireguardKey = (): string => generateTunnelKey().toString('base64')
/** The highest bit of a public key of X25519 is zero. */
function generateTunnelKey(): Buffer {
  const bytes = randomBytes(32)
  bytes[31]! &= 0x7f
  return bytes
}

export async function makeGateway(kit: Kit, name = 'g1', poolName = `pool of ${name}`) {
  const pool = await kit.admin.createGatewayPool({ body: { name: poolName, region } })
  const { gateway, secret } = await kit.admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name, endpoints: [{ host: `${name}.example`, port: 51820, proto: 'udp' }], public_key: newWireguardKey() },
  })
  return { pool, gateway, secret, client: kit.clientFor(secret) }
}

export const gatewayAgent = (
  kit: Kit,
  { gateway, secret }: { gateway: { gateway_id: string }; secret: string },
  now = () => new Date(),
  { dispatcher }: Pick<Replica, 'dispatcher'> = kit,
): Gateway =>
  openGateway({
    baseUrl: kit.publicUrl,
    dispatcher,
    secret,
    gatewayId: gateway.gateway_id,
    tenantId: encodeId('tenant', kit.tenant),
    now,
  })

let sequence = 0
export const meteringReport = (samples: object[], more: object = {}) => {
  const end = Date.now()
  return {
    report_id: newUuid(),
    boot_id: 'boot-1',
    sequence: ++sequence,
    interval_start: new Date(end - 60_000).toISOString(),
    interval_end: new Date(end).toISOString(),
    samples: samples as {
      session_id: string
      device_id: string
      state: 'active' | 'ended'
      rx_bytes: number
      tx_bytes: number
    }[],
    ...more,
  }
}
export const newVpnSessionId = () => encodeId('vpn_session', newUuid())
