import { setTimeout as delay } from 'node:timers/promises'
import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { eachTenant } from '../kernel/each-tenant.ts'
import { minute, second } from '../kernel/time.ts'
import { background, type Database, type Tx } from './database.ts'
import { admitPurge, judgePurge, notePurge } from './kept.ts'
import { hasUnrecorded } from './purges.ts'
import type { Prune } from './retention.ts'

const batch = 1000
/** Time for one kind of data of a tenant before the next has its turn, and total time of a run. */
const usual = { turnMs: 10 * second, runMs: 50 * minute }

/**
 * Deletes one batch. No legal hold can be placed meanwhile. The purge is noted in the same transaction, for the audit
 * log.
 */
async function takeSome(tx: Tx, tenant: TenantId, { kept, take }: Prune): Promise<number> {
  await admitPurge(tx)
  if (!kept) return take(tx, tenant, batch)
  const upTo = await judgePurge(tx, kept)
  if (upTo === null) return 0
  const rows = await take(tx, tenant, batch)
  if (rows > 0) await notePurge(tx, tenant, kept.class, { upTo, rows })
  return rows
}

/** Reads without tenant isolation: tenants of which only the audit log or its counts are left. */
const selectErased = async (tx: Tx): Promise<TenantId[]> =>
  (
    await tx
      .selectFrom('tenants as t')
      .select('t.tenant_id')
      .where('t.erased_at', 'is not', null)
      .where((e) =>
        e.or([
          e.exists(e.selectFrom('audit_log as l').whereRef('l.tenant_id', '=', 't.tenant_id')),
          e.exists(e.selectFrom('audit_counts as c').whereRef('c.tenant_id', '=', 't.tenant_id')),
        ]),
      )
      .orderBy('t.tenant_id')
      .execute()
  ).map((t) => t.tenant_id)

type Forgotten = {
  /** False if there may be more. */
  isDone: boolean
  isOnRecord: boolean
  purged: Map<RetentionClass, number>
}
type Bounds = { turnMs?: number; signal?: AbortSignal }

/**
 * Deletes expired data of one tenant: in short transactions with a pause of the same length after each, one turn per
 * kind of data, until the signal. Returns the number of deleted rows per class.
 */
export const createForgetting = ({ db, prunes }: { db: Database; prunes: readonly Prune[] }) => {
  async function dueOf(tx: Tx, tenant: TenantId) {
    const { rows } = await sql<{ due: boolean[]; unrecorded: boolean }>`
      select array[${sql.join(prunes.map((p) => p.isDue(tenant)))}] as due,
        ${hasUnrecorded(tenant)} as unrecorded`.execute(tx)
    return { due: prunes.filter((_, i) => rows[0]?.due[i]), unrecorded: rows[0]?.unrecorded === true }
  }
  async function takeTurn(tenant: TenantId, prune: Prune, { turnMs = usual.turnMs, signal }: Bounds) {
    const until = performance.now() + turnMs
    let taken = 0
    for (;;) {
      const since = performance.now()
      const rows = await db.inTenant(tenant, (tx) => takeSome(tx, tenant, prune), background)
      taken += rows
      if (rows < batch || performance.now() > until) return { taken, isDone: rows < batch }
      await delay(Math.min(performance.now() - since, second), undefined, signal && { signal })
    }
  }
  return async (tenant: TenantId, bounds: Bounds = {}): Promise<Forgotten> => {
    const { due, unrecorded } = await db.inTenant(tenant, (tx) => dueOf(tx, tenant), background)
    const purged: Forgotten['purged'] = new Map()
    let isAllDone = true
    for (const prune of due) {
      bounds.signal?.throwIfAborted()
      const { taken, isDone } = await takeTurn(tenant, prune, bounds)
      isAllDone &&= isDone
      if (prune.kept && taken > 0) purged.set(prune.kept.class, (purged.get(prune.kept.class) ?? 0) + taken)
    }
    return { isDone: isAllDone, isOnRecord: !unrecorded && !due.some((p) => p.kept), purged }
  }
}

/**
 * Does the same for every tenant, turn after turn, until nothing is left or the run's time is over. Most tenants have
 * nothing to delete, which takes one query. `recordPurges` writes purges to the audit log, including those of an
 * interrupted run; nothing is written to the log of an erased tenant.
 */
export const createRetention = ({
  db,
  tenants,
  prunes,
  recordPurges,
  turnMs = usual.turnMs,
  runMs = usual.runMs,
}: {
  db: Database
  tenants: () => Promise<readonly TenantId[]>
  prunes: readonly Prune[]
  recordPurges: (tenant: TenantId) => Promise<void>
  turnMs?: number
  runMs?: number
}) => {
  const forget = createForgetting({ db, prunes })

  return async (): Promise<void> => {
    const until = performance.now() + runMs
    const erased = new Set(await db.acrossTenants(selectErased, background))
    const failures: unknown[] = []
    let left: readonly TenantId[] = [...(await tenants()), ...erased]
    while (left.length > 0) {
      const more: TenantId[] = []
      await eachTenant(left, async (tenant) => {
        const { isDone, isOnRecord } = await forget(tenant, { turnMs })
        if (!isDone && performance.now() < until) more.push(tenant)
        else if (!isOnRecord && !erased.has(tenant)) await recordPurges(tenant)
      }).catch((e: unknown) => failures.push(e))
      left = more
    }
    if (failures.length > 0) throw failures[0]
  }
}
