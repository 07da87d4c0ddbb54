import type { DeviceDeed, DeviceTarget } from '../../shell/overlay.ts'
import { formatNumber } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'

type Deed = Exclude<DeviceDeed, 'lost'>
type Words = { verb: string; busy: string; done: string; isForGood: boolean; lede: string }
type Effect = { icon: IconName; text: string }

/** Words and purpose of each action. */
export const deedWords: Readonly<Record<Deed, Words>> = {
  approve: {
    verb: 'Approve',
    busy: 'Approving…',
    done: 'approved',
    isForGood: false,
    lede: 'An approved device gets its policy, and gateways let it in.',
  },
  suspend: {
    verb: 'Suspend',
    busy: 'Suspending…',
    done: 'suspended',
    isForGood: false,
    lede: 'A suspended device gets no access until somebody reactivates it.',
  },
  reactivate: {
    verb: 'Reactivate',
    busy: 'Reactivating…',
    done: 'reactivated',
    isForGood: false,
    lede: 'A reactivated device gets its policy again, and gateways let it in.',
  },
  revoke: {
    verb: 'Revoke',
    busy: 'Revoking…',
    done: 'revoked',
    isForGood: true,
    lede: 'A revoked device cannot be reactivated. Its owner must enroll it again.',
  },
}

/**
 * Returns the effects of an action on these devices, as sentences. Sessions are counted only if all devices are known.
 */
export function effectsOf(deed: Deed, { devices, filter }: DeviceTarget): readonly Effect[] {
  if (deed === 'approve' || deed === 'reactivate')
    return [
      {
        icon: 'check',
        text: `The policy decides what ${filter === undefined && devices.length === 1 ? 'it reaches' : 'they reach'}`,
      },
    ]
  const areKnown = filter === undefined && devices.every((device) => device.session !== undefined)
  const running = areKnown ? devices.filter((device) => device.session !== null).length : undefined
  const ends: Effect[] = running === 0 ? [] : [{ icon: 'out', text: `${sessionsNamed(running)} within seconds` }]
  if (deed === 'suspend') return [...ends, { icon: 'undo', text: 'A reactivation restores the access' }]
  const its = filter === undefined && devices.length === 1 ? 'Its' : 'Their'
  return [
    ...ends,
    { icon: 'cert', text: `${its} certificates go on the revocation list` },
    { icon: 'key', text: `${its} keys and credentials stop working` },
  ]
}

function sessionsNamed(count: number | undefined): string {
  if (count === undefined) return 'Running sessions end'
  return count === 1 ? 'The running session ends' : `${formatNumber(count)} running sessions end`
}

/** Returns "38 devices", or the name of a single device. */
export const devicesNamed = (count: number, name: string | undefined): string =>
  count === 1 && name !== undefined ? name : `${formatNumber(count)} ${count === 1 ? 'device' : 'devices'}`
