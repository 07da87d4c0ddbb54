import { hash } from 'node:crypto'
import { CryptoError, certificateInfo, keyIdentifier, readSpc, type Spc, spcVerifier } from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { decodeId, encodeId } from '../../../kernel/ids.ts'
import type { Authority } from '../../trust/index.ts'
import type { CertificatesDeps } from '../deps.ts'
import { uuidOfSerial } from '../serial.ts'
import type { StandingOf } from './certificate-status.ts'
import type { NotGood } from './spcs.queries.ts'

type Status = 'good' | 'superseded' | 'revoked' | 'expired' | 'not_yet_valid' | 'device_inactive' | 'unknown_issuer'
type Verdict = {
  status: Status
  reasons: string[]
  spc: Spc | null
  userId: string | null
  currentDigest: string | null
}

/** Number of verified certificates kept, by the digest of their text. The same ones are presented again and again. */
const rememberMost = 5000
const unknown: Verdict = {
  status: 'unknown_issuer',
  reasons: ['no certification authority of this tenant issued it'],
  spc: null,
  userId: null,
  currentDigest: null,
}

export const spcIdOf = ({ serial }: Pick<Spc, 'serial'>): string => encodeId('spc', uuidOfSerial(serial))

/**
 * Validates a certificate: signed by an authority of the tenant, within its validity period, not revoked, and of a
 * device that may connect. Reads only recent changes from the database.
 */
export function createValidate({
  trust,
  fleet,
  policyOf,
  now,
  standingOf,
}: Pick<CertificatesDeps, 'trust' | 'fleet' | 'policyOf' | 'now'> & { standingOf: StandingOf }) {
  type Known = { keyId: string; verify: (spc: Spc) => void }
  const verifiers = new WeakMap<Authority, Known>()
  const known = new BoundedMap<string, { spc: Spc; by: Authority }>(rememberMost)

  function verifierOf(authority: Authority): Known {
    let verifier = verifiers.get(authority)
    if (!verifier) {
      const { certificate } = authority
      verifier = { keyId: keyIdentifier(certificate), verify: spcVerifier(certificate) }
      verifiers.set(authority, verifier)
    }
    return verifier
  }

  /** Undefined for a certificate of another issuer. Throws 422 for text that is no certificate. */
  function judge(text: string, issuing: readonly Authority[], tenant: TenantId): Spc | undefined {
    const key = `${tenant} ${hash('sha256', text, 'base64url')}`
    const before = known.get(key)
    if (before && issuing.includes(before.by)) return before.spc
    const spc = read(text)
    const by = spc && issuing.find((authority) => verifierOf(authority).keyId === spc.issuerKeyIdentifier)
    if (!spc || !by || spc.tenantId !== encodeId('tenant', tenant)) return undefined
    try {
      verifierOf(by).verify(spc)
    } catch (e) {
      if (e instanceof CryptoError) return undefined
      throw e
    }
    known.set(key, { spc, by })
    return spc
  }

  return async (tenant: TenantId, text: string, at: Date): Promise<Verdict> => {
    const { issuing } = await trust.keyring(tenant)
    const spc = judge(text, issuing, tenant)
    if (!spc) return unknown
    const deviceId = decodeId('device', spc.deviceId)
    const device = deviceId === undefined ? undefined : await fleet.device(tenant, deviceId)
    const variant = device && (await policyOf(tenant, device.deviceId))
    const notGood = (await standingOf(tenant)).get(uuidOfSerial(spc.serial))
    const [status, ...reasons] = judged(spc, { at, now: now(), notGood, isUsable: device?.usable ?? false })
    return { status, reasons, spc, userId: device?.userId ?? null, currentDigest: variant?.digest ?? null }
  }
}
export type Validate = ReturnType<typeof createValidate>

/** Returns the first status that applies. */
function judged(
  { notBefore, notAfter }: Spc,
  { at, now, notGood, isUsable }: { at: Date; now: Date; notGood: NotGood | undefined; isUsable: boolean },
): [Status, ...string[]] {
  if (notGood?.status === 'revoked') return ['revoked', `revoked: ${notGood.reason ?? 'unspecified'}`]
  if (notGood?.revoke_after && notGood.revoke_after <= now) return ['revoked', 'revoked: superseded']
  if (at >= notAfter) return ['expired', `expired at ${notAfter.toISOString()}`]
  if (at < notBefore) return ['not_yet_valid', `not valid before ${notBefore.toISOString()}`]
  if (!isUsable) return ['device_inactive', 'its device, or the user of the device, has no access']
  if (notGood?.revoke_after) return ['superseded', `rotated; valid until ${notGood.revoke_after.toISOString()}`]
  return ['good']
}

/** Undefined for a certificate that is no SPC. */
function read(text: string): Spc | undefined {
  try {
    return readSpc(text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64'))
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
  }
  try {
    certificateInfo(text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64'))
    return undefined
  } catch (e) {
    if (!(e instanceof CryptoError)) throw e
    return failField('certificate', 'is not a certificate (PEM, or base64 DER)')
  }
}
