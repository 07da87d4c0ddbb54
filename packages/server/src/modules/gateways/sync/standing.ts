import type { TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'

/** A sequence number, and the policy in force at it. */
export type PolicyAtSeq = { readonly seq: number; readonly policy: TenantPolicy }

/** Limit of tries while the state keeps changing. The next request tries again. */
const most = 20

/**
 * Returns the newest sequence number up to which this replica has applied everything, with the policy in force at it. A
 * newer policy must not be sent under an older number: the next delta starts at that number, and would miss a change
 * that takes the policy back. Throws while the database is unavailable.
 */
export const createPoliciesAtSeq =
  ({ feed, policy }: Pick<GatewaysDeps, 'feed' | 'policy'>) =>
  async (tenant: TenantId, atLeast = 0): Promise<PolicyAtSeq> => {
    for (let tries = 0; tries < most; tries++) {
      if (!feed.isFresh() || feed.seqOf(tenant) < Math.max(atLeast, feed.newestOf(tenant))) await feed.catchUp()
      const seq = feed.seqOf(tenant)
      const current = await policy.at(tenant)
      if (current.seq <= seq) return { seq, policy: current }
      // The policy was read from a newer snapshot than the changes applied here.
      await feed.catchUp()
    }
    throw new AppError('internal_error', 'unexpected server error', { retryAfterSeconds: 1 })
  }
