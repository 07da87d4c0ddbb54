import { background, type Tx } from '../../db/database.ts'
import { createForgetting } from '../../db/forgetting.ts'
import { takeUnrecorded } from '../../db/purges.ts'
import type { Prune } from '../../db/retention.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { minute } from '../../kernel/time.ts'
import { type Audit, findBeginning } from '../audit/index.ts'
import { type ClockDeps, createClockWatch } from './clock.ts'

/** A purge that somebody asks for takes so long for each kind of what is over at most, and leaves the rest to the hours. */
const turnMs = minute

type Deps = ClockDeps & { audit: Audit; prunes: readonly Prune[] }

/** What jobs that purge ask before, and say after. */
export function createPurges(deps: Deps) {
  const { db, audit, prunes } = deps
  const lookAtClock = createClockWatch(deps)
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
