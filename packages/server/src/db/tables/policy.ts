import type { CanaryMeasure, GateState } from '@holdfast/contract/vocabulary'
import type { Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json, TextArray } from './columns.ts'

/** Settings of a canary's gate, with defaults filled in. */
export type GateTerms = {
  observe_minutes: number
  min_devices: number
  on_failure: 'hold' | 'rollback'
  max_rise_percent: Record<CanaryMeasure, number>
}
/** Number of reporting devices, and of those with problems. */
export type CanaryHealth = Record<'canary' | 'stable', { devices: number } & Record<CanaryMeasure, number>>

export type PolicyTables = {
  policy_bundles: {
    tenant_id: TenantId
    bundle_id: string
    version: number
    seq: number
    channel: 'canary' | 'stable'
    digest: string
    previous_digest: string | null
    document: Json<unknown>
    resolution: Json<unknown>
    note: Default<string>
    published_by: string | null
    published_at: Default<Date>
    rollout_percent: Default<number>
    rollout_group_ids: TextArray
    rollout_device_ids: TextArray
    tests: Json<unknown>
    impact: Json<unknown>
    gate_terms: Json<GateTerms> | null
    gate_state: GateState | null
    gate_looks: Default<number>
    gate_health: Json<CanaryHealth> | null
    gate_reason: string | null
    gate_judged_at: Date | null
  }
  policy_channels: { tenant_id: TenantId; channel: 'canary' | 'stable'; version: number }
  policy_drafts: {
    tenant_id: TenantId
    draft_id: string
    name: string
    text: string
    size: number
    digest: string
    base_version: number | null
    created_by: string | null
    created_at: Date
    updated_by: string | null
    updated_at: Date
    deleted_at: Date | null
  }
  policy_variants: {
    tenant_id: TenantId
    digest: string
    version: number
    bundle: string
    expires_at: Date
    created_at: Generated<Date>
  }
}
