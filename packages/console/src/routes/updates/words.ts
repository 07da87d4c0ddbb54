import type { InputOf, OutputOf } from '../../api/client.ts'
import type { IconName } from '../../ui/icon.tsx'
import type { Mark } from '../../ui/status.tsx'

export type Release = OutputOf<'GET /v1/admin/updates/releases'>['items'][number]
export type Package = OutputOf<'GET /v1/admin/updates/releases/{release_id}/packages'>['items'][number]
type Operation = InputOf<'POST /v1/admin/updates/releases/{release_id}/lifecycle'>['body']['operation']
/** Action on a release after a confirmation: a change of its state, or the deletion of a draft. */
export type ReleaseDeed = Operation | 'delete'

/** Returns the audience of a channel: the devices that the rollout percentage is of. */
export const audienceOf = ({ channel }: Pick<Release, 'channel'>): string =>
  channel === 'canary' ? 'devices on canary' : 'devices'

export const statusWords: Readonly<Record<Release['status'], { kind: Mark; label: string }>> = {
  draft: { kind: 'ring', label: 'Draft' },
  published: { kind: 'ok', label: 'Published' },
  paused: { kind: 'warn', label: 'Paused' },
  halted: { kind: 'bad', label: 'Halted' },
  withdrawn: { kind: 'off', label: 'Withdrawn' },
}

type Words = {
  verb: string
  icon: IconName
  busy: string
  done: string
  keep: string
  lede: string
  effects: readonly { icon: IconName; text: string }[]
  isDanger?: true
  /** True if it cannot be undone; the person must type the version first. */
  isFinal?: true
  takesPercent?: true
  reason?: 'optional' | 'required'
}

/** Words and effect of each action. */
export const deedWords: Readonly<Record<ReleaseDeed, Words>> = {
  publish: {
    verb: 'Publish',
    icon: 'play',
    busy: 'Publishing…',
    done: 'is published',
    keep: 'Keep draft',
    lede: 'Devices are offered the release at their next check. Its packages cannot be changed after that.',
    effects: [{ icon: 'lock', text: 'The packages are fixed and signed into the update repository' }],
    takesPercent: true,
  },
  roll_out: {
    verb: 'Set rollout of',
    icon: 'edit',
    busy: 'Setting…',
    done: 'has its new rollout',
    keep: 'Keep rollout',
    lede: 'A larger share only adds devices. A smaller one takes the offer back from devices that have not updated yet.',
    effects: [{ icon: 'laptop', text: 'Devices that have installed it keep it' }],
    takesPercent: true,
  },
  pause: {
    verb: 'Pause',
    icon: 'pause',
    busy: 'Pausing…',
    done: 'is paused',
    keep: 'Keep offering it',
    reason: 'optional',
    lede: 'No more devices are offered the release until it is resumed.',
    effects: [
      { icon: 'download', text: 'Devices that download it now may finish' },
      { icon: 'undo', text: 'Resuming offers it to the same devices again' },
    ],
  },
  resume: {
    verb: 'Resume',
    icon: 'play',
    busy: 'Resuming…',
    done: 'is offered again',
    keep: 'Stay paused',
    lede: 'It is offered to the same devices again.',
    effects: [],
  },
  promote: {
    verb: 'Promote',
    icon: 'up',
    busy: 'Promoting…',
    done: 'is in stable',
    keep: 'Keep in canary',
    lede: 'The release moves from canary to stable. Canary devices keep it.',
    effects: [{ icon: 'fleet', text: 'Stable devices are offered it, by the share that you set' }],
    takesPercent: true,
  },
  halt: {
    verb: 'Halt',
    icon: 'stop',
    busy: 'Halting…',
    done: 'is halted',
    keep: 'Keep release',
    reason: 'required',
    lede: 'A halted release cannot be offered again. Publish a newer version instead.',
    effects: [
      { icon: 'ban', text: 'No device is offered the release or can download it any more' },
      { icon: 'laptop', text: 'Devices that have installed it keep it until a newer release' },
      { icon: 'bell', text: 'Administrators are notified' },
    ],
    isDanger: true,
    isFinal: true,
  },
  withdraw: {
    verb: 'Withdraw',
    icon: 'undo',
    busy: 'Withdrawing…',
    done: 'is withdrawn',
    keep: 'Keep release',
    lede: 'A withdrawn release cannot be offered again. Use this if a better version exists.',
    effects: [{ icon: 'ban', text: 'No device is offered the release or can download it any more' }],
    isDanger: true,
    isFinal: true,
    reason: 'optional',
  },
  delete: {
    verb: 'Delete',
    icon: 'ban',
    busy: 'Deleting…',
    done: 'is deleted',
    keep: 'Keep draft',
    isDanger: true,
    lede: 'The draft and its packages are deleted for good. No device has seen it.',
    effects: [],
  },
}

/** Returns the actions that the status of a release allows, in order of use. */
export function deedsOf({ status, channel }: Release): readonly ReleaseDeed[] {
  if (status === 'draft') return ['publish', 'roll_out', 'delete']
  const promote: readonly ReleaseDeed[] = channel === 'canary' ? ['promote'] : []
  if (status === 'published') return ['roll_out', 'pause', ...promote, 'withdraw', 'halt']
  if (status === 'paused') return ['resume', 'roll_out', ...promote, 'withdraw', 'halt']
  return status === 'halted' ? ['withdraw'] : []
}

const cliVerbs: Readonly<Partial<Record<ReleaseDeed, string>>> = { roll_out: 'rollout' }

/** Returns the equivalent `holdfast` command line. */
export function commandOf(deed: ReleaseDeed, version: string, percent: number | undefined): string {
  const line = `holdfast release ${cliVerbs[deed] ?? deed} ${version}`
  if (percent === undefined || !deedWords[deed].takesPercent) return line
  return deed === 'roll_out' ? `${line} ${percent}` : `${line} --percent ${percent}`
}
