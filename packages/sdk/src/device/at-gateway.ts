import { proofSeconds, rememberedProofSeconds } from '@holdfast/contract/limits'
import { peekDeviceCredential, verifyDeviceCredential } from '@holdfast/crypto/device-credential'
import { proofKey, verifyProof } from '@holdfast/crypto/dpop'
import { reject } from '../errors.ts'
import { type GatewayState, isBlocked } from '../gateway/state.ts'
import type { Peer } from '../gateway/verifier.ts'
import { verified } from '../verify/signed.ts'
import type { TrustStore } from '../verify/trust-store.ts'

/** Credential of a device for a gateway, with a proof of possession of the bound key. */
export type SessionProof = { credential: string; proof: string }
/** A device that may open a session now. `until`: the end of its credential or of its peer entry. */
export type DeviceAtGateway = { deviceId: string; userId: string | null; peer: Peer; until: Date }

type DoorOptions = {
  trust: TrustStore
  /** State in force; null if there is none. */
  state: GatewayState | null
  tenantId: string
  gatewayId: string
  /** The public URL of the control plane, which issued the credential. */
  issuer: string
  /** Remembers used proofs, so that each opens one session. All calls must share it. */
  proofs: ProofMemory
  now: Date
}

/** Audience in a credential's `aud` for gateways. */
const audience = 'urn:holdfast:gateway'

/** Target of a device's proof: this gateway only, so that no gateway can reuse a proof at another one. */
export const sessionTarget = (gatewayId: string) => ({
  method: 'CONNECT',
  url: `holdfast-gateway://${gatewayId}/session`,
})

/**
 * Verifies a device that wants to open a session (the specification's session establishment), offline: the credential's
 * signature by the trust set, issuer, audience, tenant and end; the proof's key, gateway, age and first use; and the
 * peer list, which excludes suspended and revoked devices and those without a permission. Throws `VerificationError`:
 * `no_policy`, `malformed`, `wrong_type`, `bad_algorithm`, `bad_signature`, `unknown_key`, `wrong_issuer`,
 * `wrong_audience`, `wrong_tenant`, `expired`, `not_yet_valid`, `wrong_binding`, `replayed`, `not_a_peer`, `blocked`,
 * `trust_expired`.
 */
export function verifyDeviceAtGateway(
  credential: string,
  proof: string,
  { trust, state, tenantId, gatewayId, issuer, proofs, now }: DoorOptions,
): DeviceAtGateway {
  if (!state || (state.pool.fail_mode === 'closed' && now >= state.expiresAt))
    reject('no_policy', 'no policy is in force')
  const { kid, claims: said } = verified(() => peekDeviceCredential(credential))
  if (said.tid !== tenantId) reject('wrong_tenant', 'the credential belongs to another tenant')
  const key =
    trust.keysFor('credential', now)(kid) ?? reject('unknown_key', 'the credential is signed by an unknown key')
  const claims = verified(() => verifyDeviceCredential(credential, key, { issuer, audience, now }))
  const { jkt } =
    claims.cnf ?? reject('wrong_binding', 'the credential is not bound to a key, so its holder cannot be verified')
  const shown = verified(() =>
    verifyProof({
      ...sessionTarget(gatewayId),
      proofs: proof,
      accessToken: credential,
      jkt,
      now,
      toleranceSeconds: proofSeconds,
    }),
  )
  const peer = state.peers.get(claims.sub)
  const until = new Date(Math.min(claims.exp * 1000, peer?.valid_until ? Date.parse(peer.valid_until) : Infinity))
  if (!peer || until <= now) reject('not_a_peer', 'the device is not a peer of this gateway')
  if (isBlocked(state, claims.sub, now))
    reject('blocked', 'a session of the device was terminated, and the device is blocked for some time')
  if (!proofs.isFirst(proofKey(jkt, shown.jti).toString('base64url'), now))
    reject('replayed', 'the proof was already used')
  return { deviceId: claims.sub, userId: claims.uid ?? null, peer, until }
}

const mostProofs = 100_000

/** Stores used proofs until they expire. When full, it refuses every proof rather than forget one. */
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
      seen.set(key, now.getTime() + rememberedProofSeconds * 1000)
      return true
    },
  }
}
export type ProofMemory = ReturnType<typeof createProofMemory>
