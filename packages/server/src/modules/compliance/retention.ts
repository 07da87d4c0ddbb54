import type { RetentionDays } from '@holdfast/contract/retention'
import { retentionClasses } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import { selectPurges } from '../../db/purges.ts'
import { countOver, type Prune } from '../../db/retention.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { differences } from '../../kernel/differences.ts'
import type { ExpectedVersion } from '../../kernel/version.ts'
import { type Audit, findBeginning } from '../audit/index.ts'
import * as queries from './retention.queries.ts'

/** Maximum number of expired rows counted. */
const mostCounted = 10_000

type Deps = { db: Database; audit: Audit; now: () => Date; prunes: readonly Prune[] }

/** Retention periods of a tenant and their effects. */
export function createRetentionRules({ db, audit, now, prunes }: Deps) {
  /** Computes the effects of these periods, whether they are stored or only tried. */
  async function follow(tx: Tx, tenant: TenantId, { days, settles_at }: queries.StoredRetention) {
    const periods = await queries.measure(tx, tenant, days)
    return {
      days: daysOf(days),
      /** Version of the stored periods. Periods that are only tried have none of their own. */
      version: daysOf(days),
      settlesAt: settles_at,
      periods,
      over: await countOver(tx, tenant, { prunes, keptFor: keptFor(periods, days), most: mostCounted }),
      purges: new Map((await selectPurges(tx, tenant)).map((p) => [p.class, p])),
      beginning: await findBeginning(tx, tenant),
      distrustedUntil: await queries.findDistrust(tx),
      at: now(),
    }
  }

  /** No tenant may keep data longer than the deployment. An existing period may stay when that limit is lowered. */
  function refuseBeyond(periods: readonly queries.Bounds[], before: RetentionDays, after: RetentionDays): void {
    for (const { class: name, most } of periods) {
      const days = after[name]
      if (most !== null && days !== null && days > most && days !== before[name])
        failField(`days.${name}`, `must not be more than ${most}, the maximum of this deployment`)
    }
  }

  return {
    read: ({ tenantId }: Actor) =>
      db.inTenant(tenantId, async (tx) =>
        follow(tx, tenantId, (await queries.readRetention(tx, tenantId)) ?? { days: {}, settles_at: new Date(0) }),
      ),

    /**
     * Replaces all periods. Unchanged periods change and record nothing. A shorter period can be reverted for a day.
     * The effects are measured in a second transaction, so that a slow measurement cannot undo the change.
     */
    replace: async (
      actor: Actor,
      after: RetentionDays,
      { expected, isTrial }: { expected: ExpectedVersion; isTrial: boolean },
    ) => {
      const { version, ...stored } = await db.inTenant(actor.tenantId, async (tx) => {
        const at = now()
        const stored = await queries.lockRetention(tx, actor.tenantId, at)
        const before = daysOf(stored.days)
        expected.require(before)
        const days = withoutNulls(after)
        refuseBeyond(await queries.readBounds(tx), before, after)
        const changes = differences(prefixed(before), prefixed(after))
        if (isTrial || Object.keys(changes).length === 0) return { ...stored, days, version: before }
        const settles_at = await queries.writeRetention(tx, actor.tenantId, days, at)
        await audit.record(tx, actor, 'retention.updated', {}, { changes })
        return { days, settles_at, version: after }
      })
      return { ...(await db.inTenant(actor.tenantId, (tx) => follow(tx, actor.tenantId, stored))), version }
    },
  }
}
export type RetentionRules = ReturnType<typeof createRetentionRules>
export type RetentionState = Awaited<ReturnType<RetentionRules['read']>>

/** A hold on a whole class leaves nothing to count. */
const keptFor = (periods: readonly queries.Period[], set: queries.SetDays) =>
  new Map(
    periods.flatMap(({ class: name, days, all_held }) =>
      days === null || all_held ? [] : [[name, { days, isOwn: set[name] !== undefined }]],
    ),
  )

/** Field names as in the API. */
const prefixed = (days: RetentionDays) =>
  Object.fromEntries(Object.entries(days).map(([name, n]) => [`days.${name}`, n]))
const daysOf = (set: queries.SetDays): RetentionDays =>
  Object.fromEntries(retentionClasses.map((name) => [name, set[name] ?? null])) as RetentionDays
const withoutNulls = (days: RetentionDays): queries.SetDays =>
  Object.fromEntries(Object.entries(days).filter(([, n]) => n !== null))
