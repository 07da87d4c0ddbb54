import type { TenantId } from '../../../kernel/actor.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from './activity.ts'
import { type GatewayStatus, statusOf } from './status.ts'

/** How many gateways stand how, from memory. */
export const createStanding =
  ({ registry, activity, now }: Pick<GatewaysDeps, 'now'> & { registry: Registry; activity: Activity }) =>
  async (tenant: TenantId): Promise<Record<GatewayStatus, number>> => {
    const { gateways } = await registry.of(tenant)
    const { byGateway } = await activity.of(tenant)
    const nowMs = now().getTime()
    const count = { healthy: 0, degraded: 0, draining: 0, down: 0, never_seen: 0, pending: 0 }
    for (const [id, gateway] of gateways)
      count[statusOf(gateway, byGateway.get(id)?.lastSeenMs ?? null, nowMs).status]++
    return count
  }
