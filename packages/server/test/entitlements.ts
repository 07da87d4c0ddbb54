import { encodeId } from '../src/kernel/ids.ts'
import type { Kit } from './kit.ts'

/** Sets limits of the kit's tenant. */
export const limit = async (kit: Kit, limits: Record<string, number | null>) => {
  const tenant_id = encodeId('tenant', kit.tenant)
  await kit.admin.changeTenant({ body: { operation: 'update', tenant_id, tenant: { limits } } })
}
export const statusOf = async ({ admin, tenant }: Kit) => {
  const { metrics, blocked } = await admin.getEntitlementStatus({ params: { tenant_id: encodeId('tenant', tenant) } })
  return { of: (metric: string) => metrics.find((m) => m.metric === metric)!, blocked }
}
export const usedOf = async (kit: Kit, metric: string) => (await statusOf(kit)).of(metric).used
