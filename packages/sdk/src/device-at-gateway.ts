import { peekDeviceCredential, verifyDeviceCredential } from '@holdfast/crypto/device-credential'
import { proofKey, verifyProof } from '@holdfast/crypto/dpop'
import { reject } from './errors.ts'
import { type GatewayState, isBlocked } from './gateway-state.ts'
import type { Peer } from './gateway-verifier.ts'
import { verified } from './signed.ts'
import type { TrustStore } from './trust-store.ts'

/** What a device shows to a gateway: its credential, and a proof that it holds the key to which that is bound. */
export type SessionProof = { credential: string; proof: string }
/** A device that may open a session now. `until`: the end of its credential or of its place among the peers. */
export type DeviceAtGateway = { deviceId: string; userId: string | null; peer: Peer; until: Date }

type DoorOptions = {
  trust: TrustStore
  /** What is in force; null: nothing. */
  state: GatewayState | null
  tenantId: string
  gatewayId: string
  /** The public URL of the control plane, which issued the credential. */
  issuer: string
  /** Remembers proofs, so that each opens one session: keep one for all calls. */
  proofs: ProofMemory
  now: Date
}

/** In a credential's `aud`: it is meant for gateways too. */
const audience = 'urn:holdfast:gateway'
/** Gateways and devices keep time on their own: a proof counts for as long before the time that it bears as after it. */
const proofSeconds = 60

/** What the proof of a device names: this gateway and no other, so that none can use what it was shown at the next. */
export const sessionTarget = (gatewayId: string) => ({
  method: 'CONNECT',
  url: `holdfast-gateway://${gatewayId}/session`,
})

/**
 * Judges a device that wants to open a session (the specification's session establishment), without asking anybody: the
 * credential's signature by the trust set, issuer, audience, tenant and end; the proof's key, gateway, age and first
 * use; and the peer list, which alone says who is not suspended, revoked or without a right. Throws
 * `VerificationError`: `no_policy`, `malformed`, `wrong_type`, `bad_algorithm`, `bad_signature`, `unknown_key`,
 * `wrong_issuer`, `wrong_audience`, `wrong_tenant`, `expired`, `not_yet_valid`, `wrong_binding`, `replayed`,
 * `not_a_peer`, `blocked`, `trust_expired`.
 */
export function verifyDeviceAtGateway(
  credential: string,
  proof: string,
  { trust, state, tenantId, gatewayId, issuer, proofs, now }: DoorOptions,
): DeviceAtGateway {
  if (!state || (state.pool.fail_mode === 'closed' && now >= state.expiresAt))
    reject('no_policy', 'there is no policy in force to judge by')
  const { kid, claims: said } = verified(() => peekDeviceCredential(credential))
  if (said.tid !== tenantId) reject('wrong_tenant', 'the credential is of another tenant')
  const key =
    trust.keysFor('credential', now)(kid) ?? reject('unknown_key', 'the credential is signed by an unknown key')
  const claims = verified(() => verifyDeviceCredential(credential, key, { issuer, audience, now }))
  const { jkt } =
    claims.cnf ?? reject('wrong_binding', 'the credential is bound to no key, so nothing proves its holder')
  const shown = verified(() =>
    verifyProof({
      ...sessionTarget(gatewayId),
      proofs: proof,
      accessToken: credential,
      jkt,
      now,
      maxAgeSeconds: proofSeconds,
      futureSeconds: proofSeconds,
    }),
  )
  const peer = state.peers.get(claims.sub)
  const until = new Date(Math.min(claims.exp * 1000, peer?.valid_until ? Date.parse(peer.valid_until) : Infinity))
  if (!peer || until <= now) reject('not_a_peer', 'the device is not a peer of this gateway')
  if (isBlocked(state, claims.sub, now))
    reject('blocked', 'a session of the device was ended, and it is kept out for a while')
  if (!proofs.isFirst(proofKey(jkt, shown.jti).toString('base64url'), now))
    reject('replayed', 'the proof was used before')
  return { deviceId: claims.sub, userId: claims.uid ?? null, peer, until }
}

const mostProofs = 100_000

/**
 * Proofs that were used and are not too old to be used again; refuses any when it is full, rather than forgetting one.
 */
export function createProofMemory() {
  const seen = new Map<string, number>()
  const forget = (at: number) => {
    for (const [key, until] of seen) {
      if (until > at) return
      seen.delete(key)
    }
  }
  return {
    isFirst: (key: string, now: Date): boolean => {
      forget(now.getTime())
      if (seen.has(key) || seen.size >= mostProofs) return false
      seen.set(key, now.getTime() + 2 * proofSeconds * 1000)
      return true
    },
  }
}
export type ProofMemory = ReturnType<typeof createProofMemory>
