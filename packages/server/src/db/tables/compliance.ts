import type { RetentionClass } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json, TextArray } from './columns.ts'

export type ComplianceTables = {
  retention_settings: {
    tenant_id: TenantId
    days: Json<Partial<Record<RetentionClass, number>>>
    settles_at: Derived<Date>
    updated_at: Date
  }
  /** Periods for all tenants. Only the start writes them. */
  retention_periods: {
    class: RetentionClass
    days: number | null
    least: number
    most: number | null
    settles_at: Date
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
  /** Purges of each class. */
  retention_purges: {
    tenant_id: TenantId
    class: RetentionClass
    purged_at: Date
    up_to: Date
    purged: Default<number>
    unrecorded: Default<number>
    unrecorded_months: TextArray
  }
  retention_clock: { there_is_one: Default<boolean>; seen_at: Date; trusted_from: Date }
}
