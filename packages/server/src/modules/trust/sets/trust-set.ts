import type { TrustSet } from '@holdfast/contract/trust'
import { canonicalJson, certificateInfo, type GeneralJws, signGeneralJws } from '@holdfast/crypto'
import type { Static } from 'typebox'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Keyring } from '../keys/keyring.ts'
import { signedLifetimes } from '../lifetimes.ts'

const trustSetType = 'trust-set+jws'

export type SignedTrustSet = Static<typeof TrustSet> & { signed: GeneralJws }

/** Signing purposes whose keys devices, gateways and auditors verify. Other keys never leave the control plane. */
const published = ['credential', 'policy', 'gateway-policy', 'posture', 'update', 'trust-set', 'audit-checkpoint']

/** The content of a set that depends on the keys only, not on the time. */
function contentOf(keyring: Keyring) {
  return {
    anchors: keyring.roots.map(({ signerId, state, certificate }) => {
      const { serial: _, ...info } = certificateInfo(certificate)
      return { anchor_id: encodeId('signer', signerId), state, ...info, certificate }
    }),
    intermediates: [...keyring.issuing, ...keyring.crosses].map(({ certificate }) => certificate),
    jwks: {
      keys: [...keyring.verifiers]
        .filter(([, key]) => published.includes(key.purpose))
        .map(([kid, key]) => ({ ...key.jwk, kid, alg: key.alg, use: 'sig', holdfast_purpose: [key.purpose] })),
    },
  }
}

/** True if a set matches the current keys. */
export function saysSo({ anchors, intermediates, jwks }: SignedTrustSet, keyring: Keyring): boolean {
  return canonicalJson({ anchors, intermediates, jwks }) === canonicalJson(contentOf(keyring))
}

/** The keys that sign a set, by which clients verify the next one, and the keys of its anchors. */
export const listedIn = (keyring: Keyring) => ({
  trust_kids: keyring.trustSigners.map((signer) => signer.kid).sort(),
  anchor_kids: keyring.roots.map(({ signer }) => signer.kid).sort(),
})

export async function signTrustSet(
  tenant: TenantId,
  keyring: Keyring,
  version: number,
  now: Date,
): Promise<SignedTrustSet> {
  const document: Static<typeof TrustSet> = {
    tenant_id: encodeId('tenant', tenant),
    version,
    issued_at: now.toISOString(),
    expires_at: new Date(now.getTime() + signedLifetimes.trustSet).toISOString(),
    refresh_after: new Date(now.getTime() + signedLifetimes.trustSet / 2).toISOString(),
    ...contentOf(keyring),
  }
  const signed = await signGeneralJws(keyring.trustSigners, trustSetType, Buffer.from(canonicalJson(document)))
  return { ...document, signed }
}
