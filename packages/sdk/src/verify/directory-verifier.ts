import { reject } from '../errors.ts'
import type { Judge } from './policy-verifier.ts'
import { countOf, isObject, listOf, readSigned, textOf, textsOf } from './signed.ts'

export type DirectoryGateway = {
  gateway_id: string
  name: string
  endpoints: { host: string; port: number; proto: 'udp' | 'tcp' }[]
  public_key: string | null
  weight: number
  status: string
  /** Choose it only if there is no other gateway: it is not healthy, has recovered only recently, or is full. */
  standby: boolean
}
/** A pool, with the settings for a device's tunnel. */
export type DirectoryPool = {
  pool_id: string
  name: string
  region: { code: string; name?: string; lat?: number; lon?: number }
  protocol: string
  selection: string
  mtu: number
  dns: string[]
  /** 0: no keepalive is sent. */
  keepalive_seconds: number
  /** Networks routed into the tunnel. The device resolves resources that are DNS names. */
  routes: string[]
  /** Resources, hosts and networks that the policy reaches through the pool. */
  resources: string[]
  /** Best first. */
  gateways: DirectoryGateway[]
}
export type GatewayDirectory = { seq: number; issuedAt: Date; expiresAt: Date; pools: DirectoryPool[] }

/**
 * Verifies the directory of gateways for a device, a compact JWS (`gateway-directory+jws`). Throws `VerificationError`:
 * `wrong_tenant`, `expired`, `rollback` (older than `accepted`, the last accepted one), and the codes of signature
 * checks.
 */
export function verifyGatewayDirectory(
  directory: string,
  { trust, tenantId, now }: Judge,
  accepted: Pick<GatewayDirectory, 'seq' | 'issuedAt'> | undefined,
): GatewayDirectory {
  const said = readSigned(directory, { typ: 'gateway-directory+jws', key: trust.keysFor('policy', now) })
  if (said.schema !== 'holdfast.gateway-directory/1') reject('malformed', 'the directory has an unknown schema version')
  if (said.tenant_id !== tenantId) reject('wrong_tenant', 'the directory belongs to another tenant')
  const seq = countOf(said.seq, 'seq')
  const issuedAt = new Date(countOf(said.iat, 'iat') * 1000)
  const expiresAt = new Date(countOf(said.exp, 'exp') * 1000)
  if (now >= expiresAt) reject('expired', 'the directory has expired')
  if (accepted && (seq < accepted.seq || (seq === accepted.seq && issuedAt < accepted.issuedAt)))
    reject('rollback', `directory ${seq} is older than ${accepted.seq}`)
  return { seq, issuedAt, expiresAt, pools: listOf(said.pools, 'pools').map(poolOf) }
}

function poolOf(value: unknown): DirectoryPool {
  if (!isObject(value) || !isObject(value.region)) reject('malformed', 'a pool is not an object')
  return {
    pool_id: textOf(value.pool_id, 'pool_id'),
    name: textOf(value.name, 'name'),
    region: { ...value.region, code: textOf(value.region.code, 'region.code') },
    protocol: textOf(value.protocol, 'protocol'),
    selection: textOf(value.selection, 'selection'),
    mtu: countOf(value.mtu, 'mtu'),
    dns: textsOf(value.dns, 'dns'),
    keepalive_seconds: countOf(value.keepalive_seconds, 'keepalive_seconds'),
    routes: textsOf(value.routes, 'routes'),
    resources: textsOf(value.resources, 'resources'),
    gateways: listOf(value.gateways, 'gateways').map(gatewayOf),
  }
}

function gatewayOf(value: unknown): DirectoryGateway {
  if (!isObject(value)) reject('malformed', 'a gateway is not an object')
  return {
    gateway_id: textOf(value.gateway_id, 'gateway_id'),
    name: textOf(value.name, 'name'),
    endpoints: listOf(value.endpoints, 'endpoints').map(endpointOf),
    public_key: value.public_key === null ? null : textOf(value.public_key, 'public_key'),
    weight: countOf(value.weight, 'weight'),
    status: textOf(value.status, 'status'),
    standby: value.standby === true,
  }
}

function endpointOf(value: unknown): DirectoryGateway['endpoints'][number] {
  if (!isObject(value)) reject('malformed', 'an endpoint is not an object')
  const { proto } = value
  if (proto !== 'udp' && proto !== 'tcp') reject('malformed', 'an endpoint is neither udp nor tcp')
  return { host: textOf(value.host, 'host'), port: countOf(value.port, 'port'), proto }
}
