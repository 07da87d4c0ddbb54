import { background, type Tx } from '../../db/database.ts'
import { createForgetting } from '../../db/forgetting.ts'
import { takeUnrecorded } from '../../db/purges.ts'
import type { Prune } from '../../db/retention.ts'
import { jobSource, type TenantId } from '../../kernel/actor.ts'
import { minute } from '../../kernel/time.ts'
import { type Audit, findBeginning } from '../audit/index.ts'
import { type ClockDeps, createClockWatch } from './clock.ts'

/** Maximum time per purge rule when a purge is requested, in ms. The hourly job does the rest. */
const turnMs = minute

type Deps = ClockDeps & { audit: Audit; prunes: readonly Prune[] }

/** Clock check before purges, and audit events after them. */
export function createPurges(deps: Deps) {
  const { db, audit, prunes } = deps
  const lookAtClock = createClockWatch(deps)
  const forget = createForgetting({ db, prunes })

  /** False if no unrecorded purge is left. */
  async function recordOne(tx: Tx, tenant: TenantId): Promise<boolean> {
    const purge = await takeUnrecorded(tx, tenant)
    if (!purge) return false
    const { class: name, unrecorded, unrecorded_months: months, up_to } = purge
    const last = name === 'audit' ? (await findBeginning(tx, tenant))?.seq : undefined
    await audit.record(tx, jobSource(tenant, 'forget_what_is_over'), 'retention.purged', {
      class: name,
      count: unrecorded,
      up_to: up_to.toISOString(),
      // Purged sequence numbers have no gaps, so the count gives the first one.
      ...(last !== undefined && { from_seq: last - unrecorded + 1, up_to_seq: last }),
      ...(months.length > 0 && { months }),
    })
    return true
  }

  /** Records each purge once, whichever process comes first, also after an aborted run. */
  async function record(tenant: TenantId): Promise<void> {
    while (await db.inTenant(tenant, (tx) => recordOne(tx, tenant), background));
  }

  return {
    record,
    checkClock: lookAtClock,
    /** Purges expired data of the tenant now, by the same rules as the hourly job. */
    now: async (tenant: TenantId, signal: AbortSignal) => {
      await lookAtClock()
      const { purged } = await forget(tenant, { turnMs, signal })
      await record(tenant)
      return purged
    },
  }
}
