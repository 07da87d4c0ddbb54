import type { TenantId } from '../../kernel/actor.ts'
import type { Audit } from '../audit/index.ts'
import type { DeviceCounts } from '../devices/index.ts'
import type { createExpiry } from '../expiry/index.ts'
import type { Gateways } from '../gateways/index.ts'
import type { NotificationRules } from '../notifications/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Tenancy } from '../tenancy/index.ts'

/** Each module counts its own; what is put together here is written nowhere. */
export type DashboardDeps = {
  now: () => Date
  devices: { count: (tenant: TenantId, most: number) => Promise<DeviceCounts> }
  identity: { countSuspended: (tenant: TenantId, most: number) => Promise<number> }
  gateways: Pick<Gateways, 'statuses'>
  policy: Pick<Policy, 'current'>
  notifications: Pick<NotificationRules, 'countOpen'>
  expiry: Pick<ReturnType<typeof createExpiry>, 'soonest'>
  tenancy: Pick<Tenancy, 'usageOf' | 'usageNow' | 'counted'>
  audit: Pick<Audit, 'countsBetween'>
}
