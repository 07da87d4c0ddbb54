import type { TenantId } from '../../kernel/actor.ts'
import type { Default } from './columns.ts'

export type DbTables = {
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
}
