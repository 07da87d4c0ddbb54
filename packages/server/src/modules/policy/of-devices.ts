import type { TenantId } from '../../kernel/actor.ts'
import type { FleetDevice } from '../devices/index.ts'
import type { Delivery } from './delivery.ts'
import type { PolicyDeps } from './deps.ts'
import type { createHeldReads } from './held-reads.ts'
import type { PolicyStore } from './store.ts'

/** What the transport and other modules ask of the policy that a device is under. */
export const createOfDevices = ({
  fleet,
  now,
  store,
  delivery,
  reads: { read },
}: Pick<PolicyDeps, 'fleet' | 'now'> & {
  store: PolicyStore
  delivery: Delivery
  reads: ReturnType<typeof createHeldReads>
}) => ({
  /** What a device may ask without waiting, for the transport to answer at once. */
  reads: {
    '/v1/policy/digest': (device: { tenantId: TenantId; id: string }) => read(device, delivery.digest),
    '/v1/policy/bundle': (device: { tenantId: TenantId; id: string }) => read(device, delivery.bundle),
  },
  bundleFor: (device: FleetDevice) => read({ tenantId: device.tenantId, id: device.deviceId }, delivery.bundle),
  policyOf: async (tenant: TenantId, deviceId: string) => {
    const device = await fleet.device(tenant, deviceId)
    return device && (await store.at(tenant)).variantOf(device, now().getTime())
  },
})
