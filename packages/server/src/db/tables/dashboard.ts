import type { TenantId } from '../../kernel/actor.ts'
import type { Json } from './columns.ts'

export type DashboardTables = {
  policy_adoption: {
    tenant_id: TenantId
    bundle_id: string
    at: Date
    devices_applied: number
    devices_pending: number
    gateways_applied: number
    gateways_pending: number
  }
  fleet_days: {
    tenant_id: TenantId
    day: Date
    devices: number
    platforms: Json<{ platform: string; devices: number }[]>
    client_versions: Json<{ client_version: string | null; devices: number }[]>
    other_client_versions: number
  }
}
