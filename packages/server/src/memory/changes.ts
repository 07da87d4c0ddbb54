import { sql } from 'kysely'
import type { Database, Tx } from '../db/database.ts'
import type { TenantId } from '../kernel/actor.ts'

/** What a change touched. A device, user or group changes what some devices get; `policy` what all of a tenant may get. */
export type ChangeKind =
  | 'device'
  | 'user'
  | 'group'
  | 'policy'
  | 'pool'
  | 'gateway'
  | 'vpn_session'
  | 'admin_session'
  | 'api_key'
  | 'enrollment_token'
  | 'trust'
  | 'settings'
export type Change = { kind: ChangeKind; subject: string }
/** The subject of a change that concerns a whole tenant. */
export const everything = '00000000-0000-0000-0000-000000000000'

type Listener = (tenant: TenantId, seq: number, changes: readonly Change[]) => void

/**
 * The tenant's change log. `record` is the last statement of a transaction that changes what others hold in memory:
 * it locks the tenant's epoch row until commit, so sequence numbers become visible in order.
 */
export function createChanges(db: Database) {
  const listeners: Listener[] = []
  let announce = () => {}
  const tell: Listener = (tenant, seq, changes) => {
    for (const listener of listeners) listener(tenant, seq, changes)
  }

  return {
    /** Returns the tenant's new sequence number. Listeners of this replica hear of it at commit, before any answer. */
    record: async (tx: Tx, tenant: TenantId, changes: readonly Change[]): Promise<number> => {
      const { rows } = await sql<{ seq: number }>`
        with epoch as (update tenant_epochs set seq = seq + 1 where tenant_id = ${tenant} returning seq),
        logged as (
          insert into changes (tenant_id, seq, kind, subject)
          select ${tenant}, epoch.seq, c.kind, c.subject from epoch,
            unnest(${changes.map((c) => c.kind)}::text[], ${changes.map((c) => c.subject)}::uuid[]) as c (kind, subject)
          on conflict do nothing)
        select seq from epoch`.execute(tx)
      const seq = rows[0]?.seq
      if (seq === undefined) throw new Error(`tenant ${tenant} has no epoch`)
      db.afterCommit(tx, () => {
        tell(tenant, seq, changes)
        announce()
      })
      return seq
    },
    onChange: (listener: Listener) => {
      listeners.push(listener)
    },
    tell,
    /** Set by the feed: wakes the other replicas. */
    announceWith: (f: () => void) => {
      announce = f
    },
  }
}
export type Changes = ReturnType<typeof createChanges>
