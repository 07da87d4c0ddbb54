import type { TenantId } from '../../kernel/actor.ts'
import { whenReady } from '../../kernel/ready.ts'
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
  /** At once where the fleet and the policy are held. */
  policyOf: (tenant: TenantId, deviceId: string) =>
    whenReady(
      fleet.device(tenant, deviceId),
      (device) => device && whenReady(store.at(tenant), (policy) => policy.variantOf(device, now().getTime())),
    ),
})
