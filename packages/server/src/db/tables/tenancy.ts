import type { Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json } from './columns.ts'

export type TenancyTables = {
  tenants: { tenant_id: TenantId; name: string; canary_salt: Buffer; created_at: Generated<Date> }
  tenant_settings: {
    tenant_id: TenantId
    security: Json<Record<string, Record<string, unknown>>>
    updated_at: Default<Date>
  }
  tenant_epochs: {
    tenant_id: TenantId
    seq: Default<number>
    policy_version: Default<number>
    addresses: Default<number>
    changed_at: Generated<Date>
  }
  changes: { tenant_id: TenantId; seq: number; kind: string; subject: string; at: Generated<Date> }
  idempotency_keys: {
    tenant_id: TenantId
    principal: string
    key: string
    fingerprint: Buffer
    answer_jwe: string | null
    state: Default<'started' | 'done'>
    attempt: Default<string>
    created_at: Default<Date>
  }
  replicas: { replica_id: string; seen_at: Date }
}
