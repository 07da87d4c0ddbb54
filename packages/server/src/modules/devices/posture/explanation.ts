import type { PostureResult } from '@holdfast/policy'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { missing } from '../../../kernel/ids.ts'
import type { Fleet } from '../fleet.ts'
import { type Appraise, type Appraiser, reportOf } from './appraisal.ts'
import { findReported, type Reported } from './posture.queries.ts'

/** `by`: undefined for a revoked device, to which no policy applies. */
export type PostureExplanation = { reported: Reported; by: Appraiser | undefined; result: PostureResult }

const nothing: PostureResult = { checks: [], verdict: 'unknown', valid_until: null }

/** Outcome of every check of a device's policy for its last report, evaluated now. For administrators. */
export function createExplanations({
  db,
  fleet,
  appraise,
  now,
}: {
  db: Database
  fleet: Fleet
  appraise: Appraise
  now: () => Date
}) {
  return {
    of: async (tenant: TenantId, deviceId: string): Promise<PostureExplanation> => {
      const reported = (await db.inTenant(tenant, (tx) => findReported(tx, tenant, deviceId))) ?? missing('device')
      const device = await fleet.device(tenant, deviceId)
      const by = device && (await appraise(tenant, device))
      return { reported, by, result: by?.appraise(reportOf(reported), now().getTime()) ?? nothing }
    },
  }
}
export type Explanations = ReturnType<typeof createExplanations>
