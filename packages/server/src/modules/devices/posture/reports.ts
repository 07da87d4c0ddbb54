import { contentDigest } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { Fleet } from '../fleet.ts'
import type { Appraise, Appraiser, Outcomes } from './appraisal.ts'
import { insertPosture, lockPosture, type StoredPosture, shareVerdicts, updatePosture } from './posture.queries.ts'

/**
 * Stores reports, and announces a report only if it has consequences. Policies, variants and gateways depend on the
 * outcomes of checks and on the time when these end. A report that changes neither is only stored. For policies with
 * other checks such reports are read again (`held-reports.ts`), and no policy comes into force between judgement and
 * commit.
 */
export function createReports({
  db,
  audit,
  changes,
  fleet,
  appraise,
  now,
}: {
  db: Database
  audit: Audit
  changes: Changes
  fleet: Fleet
  appraise: Appraise
  now: () => Date
}) {
  return {
    /** `until`: end of the last announced outcomes, before which the next report is due (ms; Infinity: never). */
    report: async (actor: Actor, facts: Record<string, unknown>) => {
      const at = now()
      const tenant = actor.tenantId
      const device = (await fleet.device(tenant, actor.principal.id)) ?? fail('not_found', 'no such device')
      const appraiser = await appraise(tenant, device)
      const report = { facts, reported_at: at.getTime() }
      const result = appraiser.appraise(report, report.reported_at)
      const found = appraiser.outcomes(report, report.reported_at)
      const { verdict } = result
      const row = { device_id: device.deviceId, facts, facts_digest: contentDigest(facts), verdict, reported_at: at }
      const answerTimes = { told_at: at, told_until: Number.isFinite(found.until) ? new Date(found.until) : null }
      const until = await db.inTenant(tenant, async (tx) => {
        await shareVerdicts(tx, tenant)
        let before = await lockPosture(tx, tenant, device.deviceId)
        // Of two concurrent first reports, the second one finds the other's row.
        if (!before && !(await insertPosture(tx, tenant, row, answerTimes)))
          before = (await lockPosture(tx, tenant, device.deviceId)) ?? missing('device')
        // A later report was stored first.
        if (before && before.reported_at > at) return untilOf(before)
        const tells = isToTell(before, appraiser, found, report.reported_at)
        if (before) await updatePosture(tx, tenant, row, tells ? answerTimes : undefined)
        if (before?.verdict !== verdict) {
          const id = encodeId('device', device.deviceId)
          await audit.record(
            tx,
            actor,
            'posture.reported',
            { device_id: id, verdict },
            {
              target: { type: 'device', id, name: device.name },
              changes: { verdict: [before?.verdict ?? null, verdict] },
            },
          )
        }
        if (tells) await changes.record(tx, tenant, [{ kind: 'device', subject: device.deviceId }])
        return before && !tells ? untilOf(before) : found.until
      })
      return { at, result, until }
    },
  }
}
export type Reports = ReturnType<typeof createReports>

/** Time until which the announced outcomes apply (ms; Infinity: no end). */
const untilOf = ({ told_until }: StoredPosture): number => told_until?.getTime() ?? Number.POSITIVE_INFINITY

/** True if the report must be announced, compared with the announcement before. */
function isToTell(
  before: StoredPosture | undefined,
  { newest, outcomes }: Appraiser,
  found: Outcomes,
  nowMs: number,
): boolean {
  if (!before?.told_at || before.newest_policy !== newest) return true
  const last = { facts: before.facts, reported_at: before.reported_at.getTime() }
  if (outcomes(last, nowMs).text !== found.text) return true
  const toldUntil = untilOf(before)
  // Announced outcomes expire at gateways. A later end is announced in the second half of the period.
  return found.until < toldUntil || nowMs > (before.told_at.getTime() + toldUntil) / 2
}
