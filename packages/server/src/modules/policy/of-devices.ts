import type { Hold } from '../../http/representation.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { whenReady } from '../../kernel/ready.ts'
import type { FleetDevice } from '../devices/index.ts'
import type { Delivery } from './delivery.ts'
import type { PolicyDeps } from './deps.ts'
import type { Caller, createHeldReads } from './held-reads.ts'
import type { PolicyStore } from './store.ts'

/** What the transport and other modules ask of the policy that a device is under. */
export const createOfDevices = ({
  fleet,
  now,
  store,
  delivery,
  reads: { read, readOrWait },
}: Pick<PolicyDeps, 'fleet' | 'now'> & {
  store: PolicyStore
  delivery: Delivery
  reads: ReturnType<typeof createHeldReads>
}) => ({
  /** What a device asks again and again, for the transport to answer in front of the router. */
  reads: {
    '/v1/policy/digest': (device: Caller, hold: Hold | undefined) => readOrWait(device, delivery.digest, hold),
    '/v1/policy/bundle': (device: Caller, hold: Hold | undefined) => readOrWait(device, delivery.bundle, hold),
  },
  bundleFor: (device: FleetDevice) => read({ tenantId: device.tenantId, id: device.deviceId }, delivery.bundle),
  /** At once where the fleet and the policy are held. */
  policyOf: (tenant: TenantId, deviceId: string) =>
    whenReady(
      fleet.device(tenant, deviceId),
      (device) => device && whenReady(store.at(tenant), (policy) => policy.variantOf(device, now().getTime())),
    ),
})
