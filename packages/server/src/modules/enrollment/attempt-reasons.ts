import { platforms } from '@holdfast/contract/enrollment'
import type { AttemptReason, ErrorCode } from '@holdfast/contract/vocabulary'
import type { Actor, RefusedCredential } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import type { RecordAttempts } from './attempts.ts'
import type { AllocationOutcome, Undone } from './batch.ts'

/** Attaches the reason of a refused token use, for administrators. The answer to the device is unchanged. */
export function withAttemptReason<T>(reason: AttemptReason, refuse: () => T): T {
  try {
    return refuse()
  } catch (e) {
    if (e instanceof AppError) e.attemptReason ??= reason
    throw e
  }
}

const usualReason: Record<ErrorCode, AttemptReason> = {
  bad_request: 'invalid_request',
  unauthorized: 'key_proof_invalid',
  forbidden: 'invalid_request',
  not_found: 'invalid_request',
  entitlement_exceeded: 'plan_limit_reached',
  validation_error: 'invalid_request',
  rate_limited: 'rate_limited',
  internal_error: 'server_error',
}

/** Reasons for applicants refused in a batch. */
const reasonOfVerdict: Record<Exclude<AllocationOutcome, number>, AttemptReason> = {
  token_spent: 'used_up',
  proof_replayed: 'key_proof_replayed',
  user_gone: 'user_inactive',
  too_many_devices: 'user_limit_reached',
  key_taken: 'device_key_in_use',
  wireguard_key_taken: 'wireguard_key_in_use',
  no_place_left: 'plan_limit_reached',
  no_address_left: 'addresses_exhausted',
  // Only enrollments by an identity provider are refused for these.
  provider_closed: 'invalid_request',
  challenge_spent: 'invalid_request',
}
export const reasonOfRefusal = (refused: Undone['refused']): AttemptReason =>
  Object.hasOwn(reasonOfVerdict, refused) ? reasonOfVerdict[refused as keyof typeof reasonOfVerdict] : 'invalid_request'

const reasonOfCredential: Partial<Record<RefusedCredential['reason'], AttemptReason>> = {
  revoked: 'revoked',
  expired: 'expired',
  tenant_suspended: 'tenant_suspended',
}

/** Records refused uses of enrollment tokens, at the two places that every refusal passes. */
export const createRefusedAttempts = ({ note }: Pick<RecordAttempts, 'note'>) => ({
  /** A token issued here that is no longer valid. */
  ofCredential: ({ of, tenantId, id, reason }: RefusedCredential, sourceIp: string): void => {
    const why = reasonOfCredential[reason]
    if (of === 'enrollment_token' && why)
      note({ tenantId, tokenId: id, sourceIp, platform: null, outcome: 'refused', reason: why })
  },
  /** A valid token whose request was refused. */
  ofRequest: ({ principal, tenantId, sourceIp }: Actor, error: AppError, body: unknown): void => {
    if (principal.kind !== 'enrollment_token' || sourceIp === null) return
    const reason = error.attemptReason ?? usualReason[error.code]
    note({ tenantId, tokenId: principal.id, sourceIp, platform: platformIn(body), outcome: 'refused', reason })
  },
})

/** Reads the platform from a body that may not have been validated. */
function platformIn(body: unknown): string | null {
  const { device } = (body ?? {}) as { device?: { platform?: unknown } | null }
  const platform = typeof device === 'object' ? device?.platform : undefined
  return platforms.find((known) => known === platform) ?? null
}
