import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Audit } from '../audit/index.ts'
import type { DeviceCounts } from '../devices/index.ts'
import type { createExpiry } from '../expiry/index.ts'
import type { Gateways } from '../gateways/index.ts'
import type { Policy } from '../policy/index.ts'
import type { Tenancy } from '../tenancy/index.ts'

/** Each module counts its own objects. The dashboard only combines the numbers and stores none of them. */
export type DashboardDeps = {
  db: Database
  pager: Pager
  now: () => Date
  devices: { count: (tenant: TenantId) => Promise<DeviceCounts> }
  gateways: Pick<Gateways, 'statuses'>
  policy: Pick<Policy, 'current' | 'deliveredTo' | 'published' | 'publishedSince'>
  expiry: Pick<ReturnType<typeof createExpiry>, 'soonest'>
  tenancy: Pick<Tenancy, 'usageOf' | 'usageNow' | 'dismissedSteps'>
  audit: Pick<Audit, 'countsBetween'>
  tenants: () => Promise<readonly TenantId[]>
}
