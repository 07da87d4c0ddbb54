import type { UserDeed, UserRef } from '../../shell/overlay.ts'
import { formatCount, formatNumber } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'
import { nameOf } from '../users/words.ts'

type Words = {
  /** Title of the question and label of the button, with the name or the number of users. */
  verb: (named: string) => string
  busy: string
  /** Result: `Ana Carvalho suspended`. */
  done: (named: string) => string
  lede: string
  danger: boolean
  /** Name of the command of `holdfast user`; undefined if it has none. */
  command?: string
}
type Effect = { icon: IconName; text: string }

export const deedWords: Readonly<Record<UserDeed, Words>> = {
  suspend: {
    verb: (named) => `Suspend ${named}`,
    busy: 'Suspending…',
    done: (named) => `${named} suspended`,
    lede: 'A suspended user cannot sign in until somebody reactivates the account.',
    danger: true,
    command: 'user suspend',
  },
  reactivate: {
    verb: (named) => `Reactivate ${named}`,
    busy: 'Reactivating…',
    done: (named) => `${named} reactivated`,
    lede: 'The account works again as before the suspension.',
    danger: false,
    command: 'user reactivate',
  },
  unlock: {
    verb: (named) => `Unlock ${named}`,
    busy: 'Unlocking…',
    done: (named) => `${named} unlocked`,
    lede: 'Failed sign-ins have locked the account. Make sure that you talk to its owner.',
    danger: false,
    command: 'user unlock',
  },
  end_sessions: {
    verb: (named) => `End all sessions of ${named}`,
    busy: 'Ending…',
    done: (named) => `Sessions of ${named} ended`,
    lede: 'The account and its devices stay active. To keep them out, suspend the user.',
    danger: true,
  },
  disable_factor: {
    verb: (named) => `Turn off the second factor of ${named}`,
    busy: 'Turning off…',
    done: (named) => `Second factor of ${named} is off`,
    lede: 'For a lost phone. Make sure that you talk to the owner of the account.',
    danger: true,
    command: 'totp disable',
  },
  delete: {
    verb: (named) => `Delete ${named}`,
    busy: 'Deleting…',
    done: (named) => `${named} deleted`,
    lede: 'This cannot be undone. A suspension keeps the account.',
    danger: true,
    command: 'user delete',
  },
}

/** Numbers of running sessions; undefined if the caller may not read them. */
export type Running = { vpn: number | undefined; signIns: number | undefined }

/** Returns the effects of a change on these users, as sentences. */
export function effectsOf(deed: UserDeed, users: readonly UserRef[], running: Running): readonly Effect[] {
  const isOne = users.length === 1
  const devices = users.reduce((sum, user) => sum + (user.device_count ?? 0), 0)
  const counted = formatCount(devices, 'device')
  const effects: Readonly<Record<UserDeed, readonly (Effect | false)[]>> = {
    suspend: [
      sessionsEnd(running),
      devices > 0 && { icon: 'laptop', text: `${counted} ${devices === 1 ? 'loses' : 'lose'} access` },
      { icon: 'undo', text: 'A reactivation restores the access' },
    ],
    reactivate: [
      { icon: 'check', text: isOne ? 'The user can sign in again' : 'The users can sign in again' },
      devices > 0 && { icon: 'laptop', text: `${counted} ${devices === 1 ? 'gets' : 'get'} access again` },
    ],
    unlock: [
      { icon: 'check', text: isOne ? 'The user can sign in again at once' : 'The users can sign in again at once' },
      { icon: 'key', text: 'Password and second factor stay as they are' },
    ],
    end_sessions: [
      sessionsEnd(running),
      { icon: 'clock', text: 'Gateways refuse the devices for 5 minutes' },
      running.signIns === undefined && {
        icon: 'info',
        text: 'Sign-ins in browsers stay: that needs credentials:read and credentials:write',
      },
    ],
    disable_factor: [
      { icon: 'key', text: 'The password alone opens the account, until a new second factor is set up' },
      { icon: 'out', text: 'All sign-ins of the user end' },
      { icon: 'ban', text: 'The recovery codes stop working' },
    ],
    delete: [
      sessionsEnd(running),
      devices > 0 && { icon: 'laptop', text: `${counted} ${devices === 1 ? 'is' : 'are'} revoked for good` },
      { icon: 'key', text: 'Password, second factor, roles and API keys end' },
    ],
  }
  return effects[deed].filter((effect) => effect !== false)
}

/** Warns of a change that stops the caller too. */
export function ownEffect(deed: UserDeed, users: readonly UserRef[], ownId: string | undefined): readonly Effect[] {
  if (!['suspend', 'delete'].includes(deed) || !users.some(({ user_id }) => user_id === ownId)) return []
  return [{ icon: 'warn', text: users.length === 1 ? 'This is your own account' : 'Your own account is among them' }]
}

function sessionsEnd({ vpn, signIns }: Running): Effect | false {
  const parts = [
    vpn !== undefined && vpn > 0 && formatCount(vpn, 'VPN session'),
    signIns !== undefined && signIns > 0 && formatCount(signIns, 'sign-in'),
  ].filter((part) => part !== false)
  if (vpn === 0 && signIns === 0) return { icon: 'out', text: 'No session runs now' }
  if (parts.length === 0) return { icon: 'out', text: 'Running sessions end within seconds' }
  const one = (vpn ?? 0) + (signIns ?? 0) === 1
  return { icon: 'out', text: `${parts.join(' and ')} ${one ? 'ends' : 'end'} within seconds` }
}

/** Returns "12 users", or the name of a single user. */
export const usersNamed = (users: readonly UserRef[]): string =>
  users.length === 1 && users[0] ? nameOf(users[0]) : `${formatNumber(users.length)} users`

/** Returns the equivalent command line; undefined if there is none. */
export function deedCommand(deed: UserDeed, users: readonly UserRef[]): string | undefined {
  const { command } = deedWords[deed]
  return command && `holdfast ${command} ${users.map((user) => user.user_id).join(' ')}`
}
