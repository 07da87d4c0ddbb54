import { background, type Database, type Tx } from '../../db/database.ts'
import { createForgetting } from '../../db/forgetting.ts'
import { takeUnrecorded } from '../../db/purges.ts'
import type { Prune } from '../../db/retention.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import type { Log } from '../../kernel/log.ts'
import { minute } from '../../kernel/time.ts'
import { type Audit, findBeginning } from '../audit/index.ts'
import { checkClock } from './retention.queries.ts'

/** A purge that somebody asks for takes so long for each kind of what is over at most, and leaves the rest to the hours. */
const turnMs = minute

type Deps = { db: Database; audit: Audit; log: Log; prunes: readonly Prune[] }

/** What jobs that purge ask before, and say after. */
export function createPurges({ db, audit, log, prunes }: Deps) {
  const forget = createForgetting({ db, prunes })

  /** False where nothing is left. */
  async function recordOne(tx: Tx, tenant: TenantId): Promise<boolean> {
    const purge = await takeUnrecorded(tx, tenant)
    if (!purge) return false
    const { class: name, unrecorded, unrecorded_months: months, up_to } = purge
    const last = name === 'audit' ? (await findBeginning(tx, tenant))?.seq : undefined
    await audit.record(tx, jobSource(tenant, 'forget_what_is_over'), 'retention.purged', {
      class: name,
      count: unrecorded,
      up_to: up_to.toISOString(),
      // Without gaps, so that the number says where it began.
      ...(last !== undefined && { from_seq: last - unrecorded + 1, up_to_seq: last }),
      ...(months.length > 0 && { months }),
    })
    return true
  }

  /** What went is put on record once, by whoever comes first, also after a run that was cut off. */
  async function record(tenant: TenantId): Promise<void> {
    while (await db.inTenant(tenant, (tx) => recordOne(tx, tenant), background));
  }
  /** The wall clock of this machine is the witness: time itself is the database's. */
  async function lookAtClock(): Promise<void> {
    const until = await db.acrossTenants((tx) => checkClock(tx, new Date(Date.now())), background)
    if (until) log.warn({ until }, 'nothing is purged until then: the clock leapt or is off, or a backup was restored')
  }

  return {
    record,
    checkClock: lookAtClock,
    /** What is over of a tenant goes now, as it would with the next hour and by the same rules. */
    now: async (tenant: TenantId, signal: AbortSignal) => {
      await lookAtClock()
      const { purged } = await forget(tenant, { turnMs, signal })
      await record(tenant)
      return purged
    },
  }
}
