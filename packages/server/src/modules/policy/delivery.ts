import type { TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import type { Representation } from '../../kernel/results.ts'
import type { Feed } from '../../replication/feed.ts'
import type { Fleet } from '../devices/index.ts'
import type { ReportQueue } from './report-queue.ts'
import type { BundleBody, DevicePolicyState, DigestBody, SignedVariant, Signing } from './signing.ts'
import type { PolicyStore } from './store.ts'

/** Most retries while the cache keeps changing. Beyond them the request fails, and the client retries. */
const most = 20

/**
 * The policy that a device gets. The sequence number is read together with the numbered state: device, user and policy
 * as of the tenant's newest change applied here, evaluated at the time of that change. So on every replica one number
 * always gives a device the same digest. A change by time alone gets a number first (`turns.ts`).
 */
export function createDelivery({
  fleet,
  store,
  feed,
  turns,
  signing,
  now,
}: {
  fleet: Fleet
  store: PolicyStore
  feed: Pick<Feed, 'momentOf' | 'catchUp'>
  turns: Pick<ReportQueue, 'take'>
  signing: Signing
  now: () => Date
}) {
  /** Undefined if the device does not exist or is suspended. */
  function standingOf(
    tenant: TenantId,
    deviceId: string,
    tries = 0,
  ): DevicePolicyState | undefined | Promise<DevicePolicyState | undefined> {
    const again = () => standingOf(tenant, deviceId, tries + 1)
    if (tries > most) throw new AppError('internal_error', 'unexpected server error', { retryAfterSeconds: 1 })
    const device = fleet.device(tenant, deviceId)
    const policy = store.at(tenant)
    // Both must be read in one turn of the event loop; otherwise both are read again.
    if (device instanceof Promise || policy instanceof Promise) return Promise.all([device, policy]).then(again)
    if (!device || device.isSuspended) return undefined
    const position = feed.momentOf(tenant)
    // The rows come from a snapshot that is newer than the last change received.
    if (device.seq > position.seq || policy.seq > position.seq) return feed.catchUp().then(again)
    const { slot, from, until } = policy.selectedOf(device, position.atMs)
    const askedMs = now().getTime()
    if (askedMs >= until) return turns.take(tenant, deviceId).then(again)
    return { device, variant: slot.variant!, from, moment: position, askedMs }
  }

  const answer = <T>(
    tenant: TenantId,
    deviceId: string,
    of: (state: DevicePolicyState, made: SignedVariant) => Representation<T> | Promise<Representation<T>>,
  ): Representation<T> | undefined | Promise<Representation<T> | undefined> =>
    mapMaybePromise(
      standingOf(tenant, deviceId),
      (state) => state && mapMaybePromise(signing.pointerFor(state), (made) => of(state, made)),
    )

  /** Calls are synchronous if everything is cached. */
  return {
    standingOf,
    digest: (tenant: TenantId, deviceId: string) => answer<DigestBody>(tenant, deviceId, (_, made) => made.digest),
    bundle: (tenant: TenantId, deviceId: string) => answer<BundleBody>(tenant, deviceId, signing.bundleFor),
  }
}
export type Delivery = ReturnType<typeof createDelivery>
