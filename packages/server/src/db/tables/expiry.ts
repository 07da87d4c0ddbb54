import type { ExpiryType } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'

export type ExpiryTables = {
  expiry_warnings: {
    tenant_id: TenantId
    type: ExpiryType
    id: string
    ends_at: Date
    days: number
    /** The `dedupe_key` of the notification. */
    cause: string
    warned_at: Date
  }
}
