import type { RetentionClass } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json, TextArray } from './columns.ts'

export type RetentionTables = {
  retention_settings: {
    tenant_id: TenantId
    days: Json<Partial<Record<RetentionClass, number>>>
    settles_at: Date
    updated_at: Date
  }
  legal_holds: {
    tenant_id: TenantId
    legal_hold_id: string
    reason: string
    classes: Default<RetentionClass[]>
    user_id: string | null
    device_id: string | null
    subject_name: string | null
    placed_at: Date
    placed_by_type: string
    placed_by_id: string | null
    placed_by_name: string | null
    released_at: Date | null
    released_by_type: string | null
    released_by_id: string | null
    released_by_name: string | null
    release_reason: string | null
  }
  /** What has gone of each class. */
  retention_purges: {
    tenant_id: TenantId
    class: RetentionClass
    purged_at: Date
    up_to: Date
    purged: Default<number>
    unrecorded: Default<number>
    unrecorded_months: TextArray
  }
  /** Where the record begins since the purges of a day; written by `purge_audit` alone. */
  audit_purges: {
    tenant_id: TenantId
    purged_on: string
    up_to: number
    hash: Buffer
    events: number
    kept_days: number
    before: Date
    purged_at: Date
  }
  retention_clock: { there_is_one: Default<boolean>; seen_at: Date; trusted_from: Date }
}
