import { sql } from 'kysely'
import type { Database, Tx } from '../db/database.ts'
import type { TenantId } from '../kernel/actor.ts'
import { TenantGone } from '../kernel/each-tenant.ts'

/** Kind of the changed thing. A device, user or group affects some devices; `policy` affects all of a tenant. */
export const changeKinds = [
  'device',
  'user',
  'group',
  'policy',
  'pool',
  'gateway',
  'vpn_session',
  'admin_session',
  'api_key',
  'enrollment_token',
  'trust',
  'certificate',
  'crl',
  'release',
  'settings',
  'identity_provider',
  'tenant',
  'workflow_run',
] as const
export type ChangeKind = (typeof changeKinds)[number]
export type Change = { kind: ChangeKind; subject: string }
/** Subject of a change that may affect everything of its kind. */
export const everything = '00000000-0000-0000-0000-000000000000'

/** Position in a tenant's change log: its newest sequence number, and the database's time of it (ms). */
export type Moment = { seq: number; atMs: number }

/** Order of notification: values are dropped first, then the fleet that reads them, then waiting requests are woken. */
const stages = ['values', 'fleet', 'waiters'] as const
export type Stage = (typeof stages)[number]
export type Listener = {
  changed: (tenant: TenantId, changes: readonly Change[]) => void
  /** All cached data of the tenant is invalid; without a tenant, that of all tenants. */
  forgotten: (tenant: TenantId | undefined) => void
}

/**
 * The tenant's change log. `record` is the last statement of a transaction that changes cached data: it locks the
 * tenant's epoch row until commit, so sequence numbers become visible in order and without gaps.
 */
export function createChanges(db: Database, now: () => Date) {
  const listeners: Record<Stage, Listener[]> = { values: [], fleet: [], waiters: [] }
  let committed: (tenant: TenantId, position: Moment) => void = () => {}

  const publishChanges = (tenant: TenantId, changes: readonly Change[]): void => {
    for (const stage of stages) for (const { changed } of listeners[stage]) changed(tenant, changes)
  }

  return {
    /**
     * Returns the tenant's new sequence number. Listeners of this replica are called at commit, before any response.
     */
    record: async (tx: Tx, tenant: TenantId, changes: readonly Change[]): Promise<number> => {
      if (changes.length === 0) throw new Error('a change must name at least one changed object')
      const { rows } = await sql<{ seq: number; at_ms: number }>`
        with epoch as (
          update tenant_epochs set seq = seq + 1, changed_at = greatest(changed_at, ${now()})
          where tenant_id = ${tenant} returning seq, changed_at),
        logged as (
          insert into changes (tenant_id, seq, kind, subject, at)
          select ${tenant}, epoch.seq, c.kind, c.subject, epoch.changed_at from epoch,
            unnest(${changes.map((c) => c.kind)}::text[], ${changes.map((c) => c.subject)}::uuid[]) as c (kind, subject)
          on conflict do nothing)
        select seq, extract(epoch from changed_at) * 1000 as at_ms from epoch`.execute(tx)
      const [row] = rows
      if (!row) throw new TenantGone()
      db.afterCommit(tx, () => {
        committed(tenant, { seq: row.seq, atMs: row.at_ms })
        publishChanges(tenant, changes)
      })
      return row.seq
    },
    listen: (stage: Stage, listener: Listener): void => {
      listeners[stage].push(listener)
    },
    tell: publishChanges,
    forget: (tenant: TenantId | undefined): void => {
      for (const stage of stages) for (const { forgotten } of listeners[stage]) forgotten(tenant)
    },
    /** Set by the feed, which is notified of a commit of this replica before the listeners. */
    onCommit: (f: typeof committed): void => {
      committed = f
    },
  }
}

/** Reads the changes after one number up to another, at most `most`. */
export const changesBetween = (tx: Tx, tenant: TenantId, after: number, upTo: number, most: number) =>
  tx
    .selectFrom('changes')
    .select(['seq', 'kind', 'subject'])
    .where('tenant_id', '=', tenant)
    .where('seq', '>', after)
    .where('seq', '<=', upTo)
    .orderBy('seq')
    .orderBy('kind')
    .orderBy('subject')
    .limit(most)
    .execute()

/**
 * Deletes entries older than a day by the database's clock. A replica that was disconnected longer reloads everything.
 */
export const pruneChanges = (tx: Tx) =>
  tx.deleteFrom('changes').where('at', '<', sql<Date>`clock_timestamp() - interval '1 day'`).execute()

export type Changes = ReturnType<typeof createChanges>
