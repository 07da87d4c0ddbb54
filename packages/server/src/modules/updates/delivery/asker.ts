import type { TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import { mapMaybePromise } from '../../../kernel/maybe-promise.ts'
import type { UpdatesDeps } from '../deps.ts'
import type { Asker } from './offer.ts'

/**
 * Returns a device as releases are offered to it. Its channel is its own setting, or for `auto` the channel that
 * delivers its policy. A device on canary may request stable, but not the reverse.
 */
export const createAskers =
  ({ fleet, policy }: Pick<UpdatesDeps, 'fleet' | 'policy'>) =>
  (tenant: TenantId, deviceId: string, channel?: Asker['channel']): Asker | Promise<Asker> =>
    mapMaybePromise(fleet.device(tenant, deviceId), (device) => {
      if (!device) return missing('device')
      const given = device.channel
      const own =
        given === 'auto' ? mapMaybePromise(policy.policyOf(tenant, deviceId), (p) => p?.channel ?? 'stable') : given
      return mapMaybePromise(own, (entitled) => {
        if (channel === 'canary' && entitled !== 'canary')
          fail('forbidden', 'the device does not belong to the channel canary')
        return {
          tenantId: encodeId('tenant', tenant),
          deviceId: encodeId('device', deviceId),
          groupIds: device.groupIds,
          channel: channel ?? entitled,
          known: { platform: device.platform, version: device.clientVersion, arch: device.arch },
        }
      })
    })
export type Askers = ReturnType<typeof createAskers>
