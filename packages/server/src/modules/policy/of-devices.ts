import type { Hold } from '../../http/answer/representation.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { unauthorized } from '../../kernel/app-error.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import { type CallingDevice, createHeldReads, type FleetDevice } from '../devices/index.ts'
import type { Delivery } from './delivery.ts'
import type { PolicyDeps } from './deps.ts'
import type { PolicyStore } from './store.ts'

/** Answers about the policy of a single device, for the transport and other modules. */
export function createOfDevices({
  changes,
  fleet,
  now,
  store,
  delivery,
}: Pick<PolicyDeps, 'changes' | 'fleet' | 'now'> & { store: PolicyStore; delivery: Delivery }) {
  const waits = createHeldReads({ changes, fleet, concernAll: ['policy'], longestLookMs: Infinity })
  // A device that was deleted in the meantime has no valid credential.
  const digest = ({ tenantId, id }: CallingDevice) =>
    mapMaybePromise(delivery.digest(tenantId, id), (content) => content ?? unauthorized())
  const bundle = ({ tenantId, id }: CallingDevice) =>
    mapMaybePromise(delivery.bundle(tenantId, id), (content) => content ?? unauthorized())
  return {
    /** Endpoints that devices poll. The transport answers them before it reaches the router. */
    reads: {
      '/v1/policy/digest': (device: CallingDevice, hold: Hold | undefined) => waits.readOrWait(device, digest, hold),
      '/v1/policy/bundle': (device: CallingDevice, hold: Hold | undefined) => waits.readOrWait(device, bundle, hold),
    },
    /** Undefined if the device does not exist or is suspended. */
    bundleFor: delivery.bundle,
    /** Synchronous if the fleet and the policy are cached. */
    policyOf: (tenant: TenantId, deviceId: string) =>
      mapMaybePromise(
        fleet.device(tenant, deviceId),
        (device) => device && mapMaybePromise(store.at(tenant), (policy) => policy.variantOf(device, now().getTime())),
      ),
    /** The same with the posture verdict, for lists. Undefined for a revoked device. */
    shownPolicyOf: (tenant: TenantId, deviceId: string) =>
      mapMaybePromise(
        fleet.device(tenant, deviceId),
        (device) =>
          device &&
          mapMaybePromise(store.at(tenant), (policy) => {
            const atMs = now().getTime()
            const { channel, digest } = policy.variantOf(device, atMs)
            return { channel, digest, verdict: policy.verdictOf(device, atMs) }
          }),
      ),
    /** Returns a function that evaluates the posture verdict of any device of the tenant. */
    verdicts: async (tenant: TenantId) => {
      const policy = await store.at(tenant)
      return (device: FleetDevice, atMs: number) => policy.verdictOf(device, atMs)
    },
    /** Undefined if no canary is active. */
    canaryOf: async (tenant: TenantId) => (await store.at(tenant)).canaryReach,
    waiting: waits.waiting,
    isAwaited: waits.isAwaited,
    /** Answers every held request. */
    stop: waits.stop,
  }
}
export type OfDevices = ReturnType<typeof createOfDevices>
