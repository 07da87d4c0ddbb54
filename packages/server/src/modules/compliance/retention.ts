import type { RetentionDays } from '@holdfast/contract/retention'
import { retentionClasses } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import type { KeptOf } from '../../db/kept.ts'
import { selectPurges } from '../../db/purges.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import { differences } from '../../kernel/differences.ts'
import { day } from '../../kernel/time.ts'
import type { Expected } from '../../kernel/version.ts'
import type { Audit } from '../audit/index.ts'
import * as queries from './retention.queries.ts'

type Deps = { db: Database; audit: Audit; now: () => Date; kept: KeptOf }

/** For how long data of a tenant is kept: what it set, and what follows from that. */
export function createRetentionRules({ db, audit, now, kept }: Deps) {
  async function read(tx: Tx, tenant: TenantId) {
    const stored = await queries.readRetention(tx, tenant)
    return {
      days: daysOf(stored?.days ?? {}),
      settlesAt: stored?.settles_at,
      measured: await queries.measure(tx, tenant, retentionClasses),
      purges: new Map((await selectPurges(tx, tenant)).map((p) => [p.class, p])),
      cut: await queries.findCut(tx, tenant),
      distrustedUntil: await queries.findDistrust(tx),
      at: now(),
    }
  }

  /** Nobody keeps for longer than the deployment does. What stands already may stay when that is lowered. */
  function refuseBeyond(before: RetentionDays, after: RetentionDays): void {
    for (const name of retentionClasses) {
      const { most } = kept[name]
      const days = after[name]
      if (most !== null && days !== null && days > most && days !== before[name])
        failField(`days.${name}`, `must not be more than ${most}, for which this deployment keeps it`)
    }
  }

  return {
    read: ({ tenantId }: Actor) => db.inTenant(tenantId, (tx) => read(tx, tenantId)),

    /** Replaces all; the same again changes and records nothing. What changed can be taken back for a day. */
    replace: (actor: Actor, after: RetentionDays, expected: Expected) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const at = now()
        const stored = await queries.lockRetention(tx, actor.tenantId, at)
        const before = daysOf(stored.days)
        expected.require(before)
        refuseBeyond(before, after)
        const changes = differences(before, after)
        if (Object.keys(changes).length > 0) {
          const settles_at = new Date(at.getTime() + day)
          await queries.writeRetention(tx, actor.tenantId, { days: withoutNulls(after), settles_at, updated_at: at })
          await audit.record(tx, actor, 'retention.updated', {}, { changes })
        }
        return read(tx, actor.tenantId)
      }),
  }
}
export type RetentionRules = ReturnType<typeof createRetentionRules>
export type RetentionState = Awaited<ReturnType<RetentionRules['read']>>

const daysOf = (set: queries.SetDays): RetentionDays =>
  Object.fromEntries(retentionClasses.map((name) => [name, set[name] ?? null])) as RetentionDays
const withoutNulls = (days: RetentionDays): queries.SetDays =>
  Object.fromEntries(Object.entries(days).filter(([, n]) => n !== null))
