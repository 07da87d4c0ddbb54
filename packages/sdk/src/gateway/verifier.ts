import { contentDigest } from '@holdfast/crypto/canonical'
import { reject } from '../errors.ts'
import type { PolicyContent } from '../verify/policy-verifier.ts'
import { countOf, isObject, listOf, readSigned, textOf, textsOf, timeOf, verified } from '../verify/signed.ts'
import type { TrustStore } from '../verify/trust-store.ts'
import { type Step, stepsOf } from './patch.ts'

/** A WireGuard key of a peer. `not_after` (RFC 3339): its end; null for the key in force. */
export type TunnelKey = { key: string; not_after: string | null }

export type Peer = {
  device_id: string
  user_id: string | null
  /** RFC 3339; time of the user's last second factor. `flatten` takes it in milliseconds. */
  mfa_at: string | null
  /** Newest first. A state contains only valid keys; `gateway.carrierOf` returns the key with the addresses. */
  wireguard_keys: TunnelKey[]
  addresses: string[]
  /** RFC 3339; end of the peer, unless a newer policy arrives. */
  valid_until: string | null
  /** Digest of its content in `variants`. */
  variant: string
}

/** Peers in a chunk, which a snapshot names by the digest of its canonical JSON. */
type ChunkName = { digest: string; bytes: number }

/** A verified snapshot or delta (`holdfast.gateway-policy/1`). */
export type GatewayPolicy = {
  kind: 'snapshot' | 'delta'
  poolId: string
  seq: number
  /** The `seq` that a delta builds on; null for a snapshot. */
  baseSeq: number | null
  generatedAt: Date
  expiresAt: Date
  /**
   * `devices`: in a delta, devices that are no longer peers, for good or for now. A snapshot has none, since devices
   * that it does not name are no peers.
   */
  revocations: { devices: string[]; sessions: RevokedSession[] }
  variants: Map<string, PolicyContent>
  /** All peers of variant `from` now have variant `to`. `patch` turns the content of `from` into that of `to`. */
  moved: { from: string; to: string; patch: readonly Step[] | null }[]
  /** For a snapshot, including the peers of its chunks. */
  peers: Peer[]
  chunks: ChunkName[]
  removedPeers: string[]
  trustAnchorVersion: number
  gateway: GatewayPart
  pool: PoolPart
}

/** Settings of the gateway itself. The key in force may be older than the announced one. */
export type GatewayPart = {
  public_key: string | null
  listen_port: number | null
  /** Its addresses in the overlay network. */
  addresses: string[]
  draining: boolean
}
export type PoolPart = {
  protocol: string
  /** Networks that contain all addresses of devices and gateways. */
  overlay: string[]
  nat: 'masquerade' | 'routed'
  mtu: number
  dns: string[]
  fail_mode: 'closed' | 'open'
  lifetime_seconds: number
}

/** A terminated session. Until `block_until` (RFC 3339) the gateways of the pool refuse its device. */
export type RevokedSession = { session_id: string; device_id: string; block_until: string | null }

type GatewayJudge = {
  trust: TrustStore
  tenantId: string
  gatewayId: string
  now: Date
  /** For a policy that was accepted before: its end is not checked here. */
  mayHaveEnded?: boolean
}

/**
 * Verifies a policy for this gateway that has not ended. Does not check that it fits the held state. Throws
 * `VerificationError`.
 */
export function verifyGatewayPolicy(
  jws: string,
  { trust, tenantId, gatewayId, now, mayHaveEnded = false }: GatewayJudge,
): GatewayPolicy {
  const said = readSigned(jws, { typ: 'gateway-policy+jws', key: trust.keysFor('gateway-policy', now) })
  if (said.schema !== 'holdfast.gateway-policy/1')
    reject('malformed', 'the gateway policy has an unknown schema version')
  if (said.tenant_id !== tenantId) reject('wrong_tenant', 'the gateway policy belongs to another tenant')
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
    // Any value other than `open` means closed.
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

/** Returns the content of a variant. Throws `VerificationError` if it does not match its digest. */
export function variantOf(digest: string, content: unknown): PolicyContent {
  if (!isObject(content)) reject('malformed', 'a variant is not an object')
  if (verified(() => contentDigest(content)) !== digest) reject('wrong_digest', 'a variant does not match its digest')
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

/** Returns the peers of a chunk. Throws `VerificationError` if it does not match the snapshot's digest. */
export function readChunk(body: unknown, digest: string): Peer[] {
  if (!isObject(body)) reject('malformed', 'a chunk is not an object')
  if (verified(() => contentDigest(body)) !== digest) reject('wrong_digest', 'a chunk does not match its digest')
  return peersOf(body.peers)
}

const peersOf = (value: unknown): Peer[] => listOf(value, 'peers').map(peerOf)

function peerOf(value: unknown): Peer {
  if (!isObject(value)) reject('malformed', 'a peer is not an object')
  const { user_id } = value
  return {
    device_id: textOf(value.device_id, 'device_id'),
    user_id: user_id === null ? null : textOf(user_id, 'user_id'),
    // Null from a server of an earlier version: no second factor.
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
