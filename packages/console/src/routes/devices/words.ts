import type { OutputOf } from '../../api/client.ts'
import type { IconName } from '../../ui/icon.tsx'
import type { Mark } from '../../ui/status.tsx'

export type Device = OutputOf<'GET /v1/admin/devices'>['items'][number]
type Shown = { kind: Mark; label: string }

/** Mark and label of each device status. */
export const statusWords: Readonly<Record<Device['effective_status'], Shown>> = {
  active: { kind: 'ok', label: 'Active' },
  pending: { kind: 'ring', label: 'Pending' },
  suspended: { kind: 'off', label: 'Suspended' },
  locked: { kind: 'bad', label: 'Locked' },
  user_suspended: { kind: 'off', label: 'User suspended' },
  user_deleted: { kind: 'off', label: 'User deleted' },
  revoked: { kind: 'off', label: 'Revoked' },
  expired: { kind: 'warn', label: 'Expired' },
}
export const postureWords: Readonly<Record<Device['posture']['verdict'], Shown>> = {
  compliant: { kind: 'ok', label: 'Compliant' },
  non_compliant: { kind: 'bad', label: 'Fails' },
  unknown: { kind: 'ring', label: 'Unknown' },
}
export const presenceWords = { online: 'Online', offline: 'Offline', never: 'Never seen' } as const
export const platformWords = {
  macos: 'macOS',
  windows: 'Windows',
  linux: 'Linux',
  ios: 'iOS',
  android: 'Android',
  other: 'Other',
} as const

export const deviceIcon = ({ platform }: Pick<Device, 'platform'>): IconName =>
  platform === 'ios' || platform === 'android' ? 'phone' : 'laptop'

/** Returns the system: "macOS 15.1". A version that starts with a digit gets the name of the platform. */
export function systemOf({ platform, os_version }: Pick<Device, 'platform' | 'os_version'>): string {
  const name = platformWords[platform]
  if (!os_version) return name
  return /^[\d.]/.test(os_version) ? `${name} ${os_version}` : os_version
}
