import type { TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'

/** A sequence number, and the policy that held at it. */
export type Standing = { readonly seq: number; readonly policy: TenantPolicy }

/** Memory that changes under every look is given up on; the next request tries again. */
const most = 20

/**
 * The newest number up to which this replica has applied everything, with the policy of that number and of no later
 * one: whoever is told something under a number is told next what changed since it, and would never hear that what he
 * was told too early has been taken back. Throws while the database is away.
 */
export const createStandings =
  ({ feed, policy }: Pick<GatewaysDeps, 'feed' | 'policy'>) =>
  async (tenant: TenantId, atLeast = 0): Promise<Standing> => {
    for (let tries = 0; tries < most; tries++) {
      if (!feed.isFresh() || feed.seqOf(tenant) < Math.max(atLeast, feed.newestOf(tenant))) await feed.catchUp()
      const seq = feed.seqOf(tenant)
      const current = await policy.at(tenant)
      if (current.seq <= seq) return { seq, policy: current }
      // Read from a snapshot that is newer than what was heard of.
      await feed.catchUp()
    }
    throw new AppError('internal_error', 'unexpected server error', { retryAfterSeconds: 1 })
  }
