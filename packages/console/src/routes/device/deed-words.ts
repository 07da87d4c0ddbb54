import type { DeviceDeed } from '../../shell/overlay.ts'
import { formatNumber } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'

type Words = {
  verb: string
  busy: string
  done: string
  isForGood: boolean
  lede: string
  effects: readonly { icon: IconName; text: string }[]
}

/** What each deed is called, and what it does, in sentences. */
export const deedWords: Readonly<Record<Exclude<DeviceDeed, 'lost'>, Words>> = {
  approve: {
    ...{ verb: 'Approve', busy: 'Approving…', done: 'approved', isForGood: false },
    lede: 'An approved device gets its policy, and gateways let it in.',
    effects: [{ icon: 'check', text: 'The policy decides what it reaches' }],
  },
  suspend: {
    ...{ verb: 'Suspend', busy: 'Suspending…', done: 'suspended', isForGood: false },
    lede: 'A suspended device gets no access until somebody reactivates it.',
    effects: [
      { icon: 'out', text: 'Running sessions end within seconds' },
      { icon: 'undo', text: 'Reactivating brings everything back' },
    ],
  },
  reactivate: {
    ...{ verb: 'Reactivate', busy: 'Reactivating…', done: 'reactivated', isForGood: false },
    lede: 'A reactivated device gets its policy again, and gateways let it in.',
    effects: [{ icon: 'check', text: 'The policy decides what it reaches' }],
  },
  revoke: {
    ...{ verb: 'Revoke', busy: 'Revoking…', done: 'revoked', isForGood: true },
    lede: 'A revoked device never comes back. Its owner enrolls it again.',
    effects: [
      { icon: 'out', text: 'Running sessions end within seconds' },
      { icon: 'cert', text: 'Its certificates go on the revocation list' },
      { icon: 'key', text: 'Its keys and credentials stop working' },
    ],
  },
}

/** "38 devices", or the name of the one. */
export const devicesNamed = (count: number, name: string | undefined): string =>
  count === 1 && name !== undefined ? name : `${formatNumber(count)} ${count === 1 ? 'device' : 'devices'}`
