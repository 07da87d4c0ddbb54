import { contentDigest } from '@holdfast/crypto/canonical'
import { reject } from './errors.ts'
import { type Step, stepsOf } from './patch.ts'
import type { PolicyContent } from './policy-verifier.ts'
import { countOf, isObject, listOf, readSigned, textOf, textsOf, timeOf, verified } from './signed.ts'
import type { TrustStore } from './trust-store.ts'

/** A WireGuard key of a peer. `not_after` (RFC 3339): from then on it is none; null for the one in force. */
export type TunnelKey = { key: string; not_after: string | null }

export type Peer = {
  device_id: string
  user_id: string | null
  /** RFC 3339; when its user last proved a second factor, which `flatten` asks for as milliseconds. */
  mfa_at: string | null
  /** Newest first. Of a state only those that are valid; which one has the addresses says `gateway.carrierOf`. */
  wireguard_keys: TunnelKey[]
  addresses: string[]
  /** RFC 3339; from then on it is no peer, unless something newer was heard. */
  valid_until: string | null
  /** Digest of its content in `variants`. */
  variant: string
}

/** Peers that a snapshot names by the digest of their canonical JSON. */
type ChunkName = { digest: string; bytes: number }

/** A verified snapshot or delta (`holdfast.gateway-policy/1`). */
export type GatewayPolicy = {
  kind: 'snapshot' | 'delta'
  poolId: string
  seq: number
  /** The `seq` a delta builds on; null for a snapshot. */
  baseSeq: number | null
  generatedAt: Date
  expiresAt: Date
  /**
   * `devices`: of a delta those that are peers no more, for good or for now. A snapshot names none: who is not a peer
   * is none.
   */
  revocations: { devices: string[]; sessions: RevokedSession[] }
  variants: Map<string, PolicyContent>
  /** Every peer under the one variant is under the other now. `patch` makes the other's content of the one's. */
  moved: { from: string; to: string; patch: readonly Step[] | null }[]
  /** Of a snapshot also what its chunks hold. */
  peers: Peer[]
  chunks: ChunkName[]
  removedPeers: string[]
  trustAnchorVersion: number
  gateway: GatewayPart
  pool: PoolPart
}

/**
 * What the control plane says of the gateway itself: the key in force, which may be older than the one it announced.
 */
export type GatewayPart = {
  public_key: string | null
  listen_port: number | null
  /** Its own in the overlay. */
  addresses: string[]
  draining: boolean
}
export type PoolPart = {
  protocol: string
  /** The networks that all addresses of devices and gateways lie in. */
  overlay: string[]
  nat: 'masquerade' | 'routed'
  mtu: number
  dns: string[]
  fail_mode: 'closed' | 'open'
  lifetime_seconds: number
}

/** A session that is over. Until `block_until` (RFC 3339) the gateways of the pool refuse its device. */
export type RevokedSession = { session_id: string; device_id: string; block_until: string | null }

type GatewayJudge = {
  trust: TrustStore
  tenantId: string
  gatewayId: string
  now: Date
  /** For what was accepted before: whether it is still in force is another question. */
  mayHaveEnded?: boolean
}

/**
 * Reads what is meant for this gateway and not yet over. How it fits what the gateway holds is not judged here. Throws
 * `VerificationError`.
 */
export function verifyGatewayPolicy(
  jws: string,
  { trust, tenantId, gatewayId, now, mayHaveEnded = false }: GatewayJudge,
): GatewayPolicy {
  const said = readSigned(jws, { typ: 'gateway-policy+jws', key: trust.keysFor('gateway-policy', now) })
  if (said.schema !== 'holdfast.gateway-policy/1')
    reject('malformed', 'the gateway policy is of a schema we do not know')
  if (said.tenant_id !== tenantId) reject('wrong_tenant', 'the gateway policy is of another tenant')
  if (said.gateway_id !== gatewayId) reject('wrong_gateway', 'the gateway policy is for another gateway')
  const expiresAt = timeOf(said.expires_at, 'expires_at')
  if (!mayHaveEnded && now >= expiresAt) reject('expired', 'the gateway policy has expired')
  const { kind, revocations } = said
  if (kind !== 'snapshot' && kind !== 'delta') reject('malformed', 'kind is neither snapshot nor delta')
  if (!isObject(revocations)) reject('malformed', 'revocations is not an object')
  return {
    kind,
    poolId: textOf(said.pool_id, 'pool_id'),
    seq: countOf(said.seq, 'seq'),
    baseSeq: kind === 'delta' ? countOf(said.base_seq, 'base_seq') : null,
    generatedAt: timeOf(said.generated_at, 'generated_at'),
    expiresAt,
    revocations: {
      devices: textsOf(revocations.devices, 'revocations.devices'),
      sessions: listOf(revocations.sessions, 'revocations.sessions').map(revokedSessionOf),
    },
    variants: variantsOf(said.variants),
    moved: movesOf(said.moved, said.patches),
    peers: peersOf(said.peers),
    chunks: chunksOf(said.chunks),
    removedPeers: textsOf(said.removed_peers, 'removed_peers'),
    trustAnchorVersion: countOf(said.trust_anchor_version, 'trust_anchor_version'),
    gateway: gatewayPartOf(said.gateway),
    pool: poolPartOf(said.pool),
  }
}

function gatewayPartOf(value: unknown): GatewayPart {
  if (!isObject(value)) reject('malformed', 'gateway is not an object')
  const { public_key, listen_port } = value
  return {
    public_key: public_key === null ? null : textOf(public_key, 'gateway.public_key'),
    listen_port: listen_port === null ? null : countOf(listen_port, 'gateway.listen_port'),
    addresses: textsOf(value.addresses, 'gateway.addresses'),
    draining: value.draining === true,
  }
}

function poolPartOf(value: unknown): PoolPart {
  if (!isObject(value)) reject('malformed', 'pool is not an object')
  const { nat, fail_mode } = value
  if (nat !== 'masquerade' && nat !== 'routed') reject('malformed', 'pool.nat is neither masquerade nor routed')
  return {
    protocol: textOf(value.protocol, 'pool.protocol'),
    overlay: textsOf(value.overlay, 'pool.overlay'),
    nat,
    mtu: countOf(value.mtu, 'pool.mtu'),
    dns: textsOf(value.dns, 'pool.dns'),
    // Anything but an explicit `open` closes.
    fail_mode: fail_mode === 'open' ? 'open' : 'closed',
    lifetime_seconds: countOf(value.lifetime_seconds, 'pool.lifetime_seconds'),
  }
}

function revokedSessionOf(value: unknown): RevokedSession {
  if (!isObject(value)) reject('malformed', 'a revoked session is not an object')
  const { block_until } = value
  return {
    session_id: textOf(value.session_id, 'session_id'),
    device_id: textOf(value.device_id, 'device_id'),
    block_until: block_until === null ? null : timeOf(block_until, 'block_until').toISOString(),
  }
}

function variantsOf(value: unknown): Map<string, PolicyContent> {
  if (!isObject(value)) reject('malformed', 'variants is not an object')
  const variants = new Map<string, PolicyContent>()
  for (const [digest, content] of Object.entries(value)) variants.set(digest, variantOf(digest, content))
  return variants
}

/** The content of a variant. Throws `VerificationError` unless it is what the digest says. */
export function variantOf(digest: string, content: unknown): PolicyContent {
  if (!isObject(content)) reject('malformed', 'a variant is not an object')
  if (verified(() => contentDigest(content)) !== digest) reject('wrong_digest', 'a variant is not what its digest says')
  return content as PolicyContent
}

function movesOf(value: unknown, said: unknown): GatewayPolicy['moved'] {
  const patches = said === undefined ? [] : listOf(said, 'patches').map(stepsOf)
  return listOf(value, 'moved').map((move) => {
    if (!isObject(move)) reject('malformed', 'a move is not an object')
    const patch = move.patch === undefined ? null : patches[countOf(move.patch, 'moved.patch')]
    if (patch === undefined) reject('malformed', 'the patch of a move is missing')
    return { from: textOf(move.from, 'moved.from'), to: textOf(move.to, 'moved.to'), patch }
  })
}

const chunksOf = (value: unknown): ChunkName[] =>
  listOf(value, 'chunks').map((chunk) =>
    isObject(chunk)
      ? { digest: textOf(chunk.digest, 'chunks.digest'), bytes: countOf(chunk.bytes, 'chunks.bytes') }
      : reject('malformed', 'a chunk is not an object'),
  )

/** The peers of a chunk. Throws `VerificationError` unless they are what the snapshot named. */
export function readChunk(body: unknown, digest: string): Peer[] {
  if (!isObject(body)) reject('malformed', 'a chunk is not an object')
  if (verified(() => contentDigest(body)) !== digest) reject('wrong_digest', 'a chunk is not what its digest says')
  return peersOf(body.peers)
}

const peersOf = (value: unknown): Peer[] => listOf(value, 'peers').map(peerOf)

function peerOf(value: unknown): Peer {
  if (!isObject(value)) reject('malformed', 'a peer is not an object')
  const { user_id } = value
  return {
    device_id: textOf(value.device_id, 'device_id'),
    user_id: user_id === null ? null : textOf(user_id, 'user_id'),
    // Of a server that does not say so yet: never.
    mfa_at: value.mfa_at == null ? null : timeOf(value.mfa_at, 'mfa_at').toISOString(),
    wireguard_keys: listOf(value.wireguard_keys, 'wireguard_keys').map(tunnelKeyOf),
    addresses: textsOf(value.addresses, 'addresses'),
    valid_until: value.valid_until === null ? null : timeOf(value.valid_until, 'valid_until').toISOString(),
    variant: textOf(value.variant, 'variant'),
  }
}

function tunnelKeyOf(value: unknown): TunnelKey {
  if (!isObject(value)) reject('malformed', 'a WireGuard key is not an object')
  const { not_after } = value
  return {
    key: textOf(value.key, 'wireguard_keys.key'),
    not_after: not_after === null ? null : timeOf(not_after, 'wireguard_keys.not_after').toISOString(),
  }
}
