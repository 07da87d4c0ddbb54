import type { Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default } from './columns.ts'

export type ReplicationTables = {
  tenant_epochs: {
    tenant_id: TenantId
    seq: Default<number>
    policy_version: Default<number>
    addresses: Default<number>
    changed_at: Generated<Date>
    fenced_at: Date | null
  }
  changes: { tenant_id: TenantId; seq: number; kind: string; subject: string; at: Generated<Date> }
}
