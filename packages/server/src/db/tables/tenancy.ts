import type { ColumnType, Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json } from './columns.ts'

export type StoredLimits = { readonly [metric in string]?: number | null }
/** Claims of a license with a verified signature. Times are in seconds. */
export type StoredClaims = {
  iss: string
  sub: string
  jti: string
  iat: number
  nbf: number
  exp: number
  grace_days: number
  edition: string
  features: string[]
  limits: StoredLimits
  deployment_id?: string
}

export type TenancyTables = {
  tenants: {
    tenant_id: TenantId
    name: string
    name_key: Derived<string>
    display_name: Default<string>
    canary_salt: Buffer
    status: Derived<'active' | 'suspended' | 'deleting' | 'deleted'>
    plan_id: string | null
    limits: Json<StoredLimits>
    created_at: Default<Date>
    updated_at: Default<Date>
    suspended_at: Date | null
    delete_after: Date | null
    deleted_at: Date | null
    erased_at: Date | null
  }
  plans: {
    plan_id: string
    name: string
    name_key: Derived<string>
    limits: Json<StoredLimits>
    features: string[]
    created_at: Default<Date>
    updated_at: Default<Date>
    deleted_at: Date | null
  }
  licenses: {
    singleton: Default<boolean>
    token: string | null
    claims: ColumnType<unknown, string | undefined, string>
    issued_at: Date | null
    ends_at: Date | null
    loaded_at: Date | null
    problem: string | null
    problem_at: Date | null
  }
  deployment: { singleton: Default<boolean>; deployment_id: Default<string>; seen_at: Default<Date> }
  entitlement_counters: { tenant_id: TenantId; metric: string; used: number }
  entitlement_moves: {
    tenant_id: TenantId
    metric: string
    move_id: Generated<number>
    delta: number
    at: Generated<Date>
  }
  entitlement_alerts: {
    tenant_id: TenantId
    metric: string
    level: 'approaching' | 'at_limit' | 'over'
    since: Date
  }
  usage_levels: { tenant_id: TenantId; metric: string; hour: Date; peak: number; used: number }
  usage_traffic: {
    tenant_id: TenantId
    hour: Date
    gateway_id: string
    rx_bytes: number
    tx_bytes: number
    sessions: number
  }
  tenant_settings: {
    tenant_id: TenantId
    security: Json<Record<string, Record<string, unknown>>>
    enrollment: ColumnType<Record<string, Record<string, unknown>>, string | undefined, string>
    dismissed_steps: Default<string[]>
    updated_at: Default<Date>
  }
}
