import { contentDigest } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import type { Changes } from '../../../memory/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { Fleet } from '../fleet.ts'
import type { Appraise, Appraiser, Outcomes } from './appraisal.ts'
import { insertPosture, lockPosture, type StoredPosture, shareVerdicts, updatePosture } from './posture.queries.ts'

/**
 * A report is stored, and told of only where something follows from it. What a policy, a variant or a gateway makes of
 * a device depends on the outcomes of checks and on when these end; a report that moves neither is a row that is
 * written, and nothing else. Policies that ask for other checks have such reports read again (`held-reports.ts`), and
 * none comes into force between the judgement and the commit.
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
    /** `until`: when what was last told of the device ends; the next report comes before (ms; Infinity: never). */
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
      const told = { told_at: at, told_until: Number.isFinite(found.until) ? new Date(found.until) : null }
      const until = await db.inTenant(tenant, async (tx) => {
        await shareVerdicts(tx, tenant)
        let before = await lockPosture(tx, tenant, device.deviceId)
        // Of two that are the first, the second one finds the other.
        if (!before && !(await insertPosture(tx, tenant, row, told)))
          before = (await lockPosture(tx, tenant, device.deviceId)) ?? missing('device')
        // A later one has overtaken it.
        if (before && before.reported_at > at) return untilOf(before)
        const tells = isToTell(before, appraiser, found, report.reported_at)
        if (before) await updatePosture(tx, tenant, row, tells ? told : undefined)
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

/** Until when what was told of a report counts (ms; Infinity: for good). */
const untilOf = ({ told_until }: StoredPosture): number => told_until?.getTime() ?? Number.POSITIVE_INFINITY

/** Whether anything follows from a report, beside what was told of the one before. */
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
  // What gateways were told ends by itself: they hear of a later end before the last half of it is over.
  return found.until < toldUntil || nowMs > (before.told_at.getTime() + toldUntil) / 2
}
