import assert from 'node:assert/strict'
import type { CountedMetric } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from '../deployment/deployment.ts'
import { until } from '../deployment/wait-until.ts'
import { eventsOf } from './audit-events.ts'
import { inbox } from './notifications.ts'

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

/** Limits for which `tells` has found the event and the notification. */
export const toldLimits = new Set<CountedMetric>()
/** Asserts that a refusal by a limit has an audit event, and that administrators are notified once. */
export async function tells(kit: Kit, metric: CountedMetric, limit: number) {
  const found = async () => (await eventsOf(kit, 'entitlement.exceeded')).filter((e) => e.metric === metric)
  await until(async () => (await found()).length > 0, `entitlement.exceeded of ${metric}`)
  const [event] = (await found()).reverse()
  assert.deepEqual([event?.limit, event?.outcome, event?.target?.type], [limit, 'refused', 'tenant'])
  assert.ok((event?.used ?? 0) >= limit && (event?.refused ?? 0) > 0)
  const notices = (await inbox(kit)).filter((n) => n.kind === 'entitlement.exceeded')
  assert.equal(
    notices.filter((n) => n.title.toLowerCase().includes(metric.replace('_', ' '))).length,
    1,
    JSON.stringify(notices),
  )
  toldLimits.add(metric)
  return event
}
