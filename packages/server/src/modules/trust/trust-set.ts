import type { TrustSet } from '@holdfast/contract/trust'
import { canonicalJson, certificateInfo, signGeneralJws } from '@holdfast/crypto'
import type { Static } from 'typebox'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { day } from '../../kernel/time.ts'
import type { Keyring } from './keys.ts'

const trustSetType = 'trust-set+jws'
/** A set lives 7 days and is issued anew after half of that, so that clients that refresh always hold a current one. */
const lifetime = 7 * day

export type SignedTrustSet = Static<typeof TrustSet> & {
  signed: { payload: string; signatures: { protected: string; signature: string }[] }
}

/** Signing purposes whose keys devices and gateways check; the others never leave the control plane. */
const published = ['credential', 'policy', 'gateway-policy', 'posture', 'update', 'trust-set']

/** What a set says of the keys, whenever it says it. */
function contentOf(keyring: Keyring) {
  return {
    anchors: keyring.rows
      .filter((row) => row.purpose === 'ca-root' && row.certificate !== null)
      .map((row) => {
        const { serial: _, ...info } = certificateInfo(row.certificate!)
        return {
          anchor_id: encodeId('signer', row.signer_id),
          state: row.state as 'active' | 'retiring',
          ...info,
          certificate: row.certificate!,
        }
      }),
    intermediates: keyring.rows.filter((row) => row.purpose === 'ca-issuing').map((row) => row.certificate!),
    jwks: {
      keys: [...keyring.verifiers]
        .filter(([, key]) => published.includes(key.purpose))
        .map(([kid, key]) => ({ ...key.jwk, kid, alg: key.alg, use: 'sig', holdfast_purpose: [key.purpose] })),
    },
  }
}

/** Whether a set says what the keys are now. */
export function saysSo({ anchors, intermediates, jwks }: SignedTrustSet, keyring: Keyring): boolean {
  return canonicalJson({ anchors, intermediates, jwks }) === canonicalJson(contentOf(keyring))
}

export async function signTrustSet(
  tenant: TenantId,
  keyring: Keyring,
  version: number,
  now: Date,
): Promise<SignedTrustSet> {
  const trustSigner = keyring.signers.get('trust-set')
  if (!trustSigner) throw new Error('the tenant has no key for trust sets')
  const document: Static<typeof TrustSet> = {
    tenant_id: encodeId('tenant', tenant),
    version,
    issued_at: now.toISOString(),
    expires_at: new Date(now.getTime() + lifetime).toISOString(),
    refresh_after: new Date(now.getTime() + lifetime / 2).toISOString(),
    ...contentOf(keyring),
  }
  const signed = await signGeneralJws([trustSigner], trustSetType, Buffer.from(canonicalJson(document)))
  return { ...document, signed }
}
