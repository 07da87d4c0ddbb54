import type { PolicyConditions, PolicySettings } from '@holdfast/contract/policy-document'
import { contentDigest } from '@holdfast/crypto/canonical'
import { reject } from '../errors.ts'
import { countOf, isObject, readSigned, textOf, timeOf, verified } from './signed.ts'
import type { TrustStore } from './trust-store.ts'

/** Content that a device enforces. Its digest is `contentDigest(content)`. */
export type PolicyContent = {
  schema: 'holdfast.policy/1'
  rules: {
    id: string
    action: 'allow' | 'deny'
    /** Keys of `resources`, networks, or `*`. */
    to: string[]
    ports?: string[]
    when?: Omit<PolicyConditions, 'posture'>
    via?: string[]
    expires_at?: string
    log?: true
  }[]
  resources: Record<string, { cidrs?: string[]; dns?: string[]; services?: string[]; ports?: string[]; pool?: string }>
  settings: PolicySettings
  gateway_pools: string[]
  posture_checks: { id: string; remediation: string }[]
}

/** A verified pointer: the content in force, and the time until which that is known. */
export type PolicyPointer = { digest: string; channel: string; version: number; seq: number; expiresAt: Date }

/** A verified bundle: content and its end. The pointer names the version, since several versions may share content. */
type VerifiedBundle = {
  digest: string
  /** Expiry of this content. During a failure it is enforced until then. */
  expiresAt: Date
  content: PolicyContent
}
export type DevicePolicy = VerifiedBundle & { channel: string; version: number }

export type Judge = { trust: TrustStore; tenantId: string; now: Date }
/**
 * The last accepted policy. An answer whose `seq` is not higher must have the same digest, since a number identifies
 * one content.
 */
type Accepted = { digest: string; seq: number }

/**
 * Verifies the pointer of a digest or bundle answer. Unsigned parts of the answer are not trusted. Throws
 * `VerificationError`.
 */
export function verifyPointer(
  answer: { digest: string; pointer: string },
  { trust, tenantId, now }: Judge,
  accepted: Accepted | undefined,
): PolicyPointer {
  const said = readSigned(answer.pointer, { typ: 'policy-pointer+jwt', key: trust.keysFor('policy', now) })
  requireTenant(said, tenantId)
  const pointer = {
    digest: textOf(said.digest, 'digest'),
    channel: textOf(said.channel, 'channel'),
    version: countOf(said.version, 'version'),
    seq: countOf(said.seq, 'seq'),
    expiresAt: new Date(countOf(said.exp, 'exp') * 1000),
  }
  if (now >= pointer.expiresAt) reject('expired', 'the policy pointer has expired')
  if (answer.digest !== pointer.digest) reject('wrong_digest', 'the answer names another digest than its pointer')
  if (accepted && pointer.seq <= accepted.seq && pointer.digest !== accepted.digest)
    reject('rollback', `policy seq ${pointer.seq} is not newer than ${accepted.seq}`)
  return pointer
}

/** Verifies a bundle that must contain the content with this digest. Throws `VerificationError`. */
export function verifyBundle(bundle: string, digest: string, { trust, tenantId, now }: Judge): VerifiedBundle {
  const said = readSigned(bundle, { typ: 'policy-bundle+jws', key: trust.keysFor('policy', now) })
  requireTenant(said, tenantId)
  if (said.schema !== 'holdfast.policy-bundle/1') reject('malformed', 'the bundle has an unknown schema version')
  const { content } = said
  if (!isContent(content)) reject('malformed', 'the bundle has no content of a known schema version')
  if (verified(() => contentDigest(content)) !== digest)
    reject('wrong_digest', 'the content of the bundle does not match its digest')
  const expiresAt = timeOf(said.expires_at, 'expires_at')
  if (now >= expiresAt) reject('expired', 'the bundle has expired')
  return { digest, expiresAt, content }
}

function requireTenant(said: Record<string, unknown>, tenantId: string): void {
  if (said.tenant_id !== tenantId) reject('wrong_tenant', 'the policy belongs to another tenant')
}

/** Checks only the schema and the main parts; the rest is trusted by the signature. */
const isContent = (value: unknown): value is PolicyContent =>
  isObject(value) && value.schema === 'holdfast.policy/1' && Array.isArray(value.rules) && isObject(value.resources)
