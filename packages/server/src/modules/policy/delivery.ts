import type { TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { whenReady } from '../../kernel/ready.ts'
import type { Representation } from '../../kernel/representation.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Fleet } from '../devices/index.ts'
import type { BundleBody, DigestBody, Made, Signing, Standing } from './signing.ts'
import type { PolicyStore } from './store.ts'
import type { Turns } from './turns.ts'

/** Memory that changes under every look is given up on; the next request tries again. */
const most = 20

/**
 * What devices are given. The sequence number is read together with what it numbers: device, user and policy as of the
 * tenant's newest change that was applied here, evaluated at that change's own time. So one number stands for one
 * digest of a device, on every replica; what only time changes is given a number first (`turns.ts`).
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
  turns: Pick<Turns, 'take'>
  signing: Signing
  now: () => Date
}) {
  /** Undefined: no such device, or one that may not ask. */
  function standingOf(
    tenant: TenantId,
    deviceId: string,
    tries = 0,
  ): Standing | undefined | Promise<Standing | undefined> {
    const again = () => standingOf(tenant, deviceId, tries + 1)
    if (tries > most) throw new AppError('internal_error', 'unexpected server error', { retryAfterSeconds: 1 })
    const device = fleet.device(tenant, deviceId)
    const policy = store.at(tenant)
    // Both are looked at in one turn of the loop, or both again.
    if (device instanceof Promise || policy instanceof Promise) return Promise.all([device, policy]).then(again)
    if (!device || device.isSuspended) return undefined
    const moment = feed.momentOf(tenant)
    // Read from a snapshot that is newer than what was heard of.
    if (device.seq > moment.seq || policy.seq > moment.seq) return feed.catchUp().then(again)
    const { slot, from, until } = policy.selectedOf(device, moment.atMs)
    const askedMs = now().getTime()
    if (askedMs >= until) return turns.take(tenant, deviceId).then(again)
    return { device, variant: slot.variant!, from, moment, askedMs }
  }

  const answer = <T>(
    tenant: TenantId,
    deviceId: string,
    of: (standing: Standing, made: Made) => Representation<T> | Promise<Representation<T>>,
  ): Representation<T> | undefined | Promise<Representation<T> | undefined> =>
    whenReady(
      standingOf(tenant, deviceId),
      (standing) => standing && whenReady(signing.pointerFor(standing), (made) => of(standing, made)),
    )

  /** Warm calls are synchronous. */
  return {
    standingOf,
    digest: (tenant: TenantId, deviceId: string) => answer<DigestBody>(tenant, deviceId, (_, made) => made.digest),
    bundle: (tenant: TenantId, deviceId: string) => answer<BundleBody>(tenant, deviceId, signing.bundleFor),
  }
}
export type Delivery = ReturnType<typeof createDelivery>
