import type { Tx } from '../../../../db/database.ts'
import type { Source } from '../../../../kernel/actor.ts'
import { encodeId } from '../../../../kernel/ids.ts'
import type { FederationDeps } from '../../deps.ts'
import type { GrantRow } from './grants.queries.ts'

/** Records in the audit log that a grant ended without an enrollment, and why. Runs in the transaction that ends it. */
export const recordEnd = (
  audit: FederationDeps['audit'],
  tx: Tx,
  by: Source,
  { provider_id, end_reason }: Pick<GrantRow, 'provider_id' | 'end_reason'>,
): Promise<void> => {
  const fields = { method: 'device_code', provider_id: encodeId('identity_provider', provider_id) }
  const reason = end_reason ?? 'expired'
  return audit.record(tx, { ...by, claim: null }, 'device.enrollment_refused', { ...fields, reason }, refused)
}
const refused = { outcome: 'refused' } as const

/**
 * State of a grant as the machine sees it: an error code of RFC 8628 §3.5 where one fits, otherwise a state without a
 * reason.
 */
export type GrantStatus = 'authorization_pending' | 'authorized' | 'access_denied' | 'expired_token' | 'failed'
export function grantStatusOf({ state, end_reason, expires_at }: GrantRow, at: Date): GrantStatus {
  if (state === 'ended') return endings[end_reason ?? ''] ?? 'failed'
  if (expires_at <= at) return 'expired_token'
  return state === 'authorized' ? 'authorized' : 'authorization_pending'
}
const endings: Readonly<Record<string, GrantStatus>> = { denied: 'access_denied', expired: 'expired_token' }
