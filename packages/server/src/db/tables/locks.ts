import type { LockTarget } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Json, StoredParty } from './columns.ts'

export type LocksTables = {
  locks: {
    tenant_id: TenantId
    lock_id: string
    target_type: LockTarget
    target_id: string
    target_name: string | null
    reason: string
    created_by: Json<StoredParty>
    created_at: Date
    expires_at: Date | null
    released_by: Json<StoredParty> | null
    released_at: Date | null
  }
}
