import { useSyncExternalStore } from 'react'
import type { OutputOf } from '../api/client.ts'
import { dropDraft, holdDraft, keptDraft } from '../api/drafts.ts'
import type { SessionTarget } from '../routes/sessions/words.ts'

/** Action on devices. Lists, panels and the palette open it. */
export type DeviceDeed = 'approve' | 'suspend' | 'reactivate' | 'revoke' | 'lost'
type Device = OutputOf<'GET /v1/admin/devices'>['items'][number]
/** Device with at least its id and name; the caller adds the fields that it has. */
export type DeviceRef = Pick<Device, 'device_id' | 'name'> & Partial<Device>
/** Selected devices, or all devices that match a filter. With a filter, `devices` is the page that is shown. */
export type DeviceTarget =
  | { devices: readonly DeviceRef[]; filter?: undefined }
  | {
      devices: readonly DeviceRef[]
      filter: Readonly<Record<string, string>>
      /** Filter in words: "status Active". */
      filterWords: readonly string[]
      matched: number
    }

type User = OutputOf<'GET /v1/admin/users'>['items'][number]
/** User with at least its id and username; the caller adds the fields that it has. */
export type UserRef = Pick<User, 'user_id' | 'username'> & Partial<User>
/** Change of users that asks first. */
export type UserDeed = 'suspend' | 'reactivate' | 'unlock' | 'end_sessions' | 'disable_factor' | 'delete'
/** Sheet or question about users. */
export type UserOverlay =
  | { kind: 'user'; act: 'create' }
  | { kind: 'user'; act: 'edit' | 'password' | 'enroll_factor' | 'compromised'; user: UserRef }
  /** Without a user, the sheet asks for one. */
  | { kind: 'user'; act: 'grant_role'; user?: UserRef | undefined }
  | { kind: 'user'; act: 'deed'; deed: UserDeed; users: readonly UserRef[]; onDone?: (() => void) | undefined }

type Group = OutputOf<'GET /v1/admin/groups'>['items'][number]
/** Group with at least its id and name; the caller adds the fields that it has. */
export type GroupRef = Pick<Group, 'group_id' | 'name'> & Partial<Group>
/** Action on one group. */
export type GroupAction = 'add_members' | 'edit' | 'delete'
/** Sheet or question about groups. */
export type GroupOverlay = { kind: 'group'; act: 'create' } | { kind: 'group'; act: GroupAction; group: GroupRef }

/** Dialog, sheet or palette above the page. Only one is open at a time. */
type Overlay =
  | { kind: 'palette' }
  | { kind: 'help' }
  | { kind: 'alerts' }
  | { kind: 'device_edit'; deviceId: string }
  | { kind: 'enroll' }
  | { kind: 'install_lines' }
  | { kind: 'token_revoke'; token: { token_id: string; name: string; uses: number } }
  | { kind: 'session_end'; target: SessionTarget; onDone?: (() => void) | undefined }
  | UserOverlay
  | GroupOverlay
  | { kind: 'device_deed'; deed: DeviceDeed; target: DeviceTarget; onDone?: (() => void) | undefined }

const transient: ReadonlySet<Overlay['kind']> = new Set(['palette', 'help', 'alerts'])
const listeners = new Set<() => void>()
/** The open form, which is restored after a new sign-in. */
let open = keptDraft('overlay') as Overlay | undefined
dropDraft('overlay')
holdDraft('overlay', () => (open === undefined || transient.has(open.kind) ? undefined : open))

/**
 * Opens an overlay and closes the open one.
 *
 * @example openOverlay({ kind: 'device_deed', deed: 'lost', target: { devices: [device] } })
 */
export function openOverlay(overlay: Overlay): void {
  open = overlay
  for (const listener of listeners) listener()
}
export function closeOverlay(): void {
  open = undefined
  for (const listener of listeners) listener()
}
/** True while the palette is open or its module is loading. */
export const isPaletteOpen = (): boolean => open?.kind === 'palette'

let early = { text: '', isEntered: false }
/** Stores a key that is typed before the field of the palette is ready. */
export function typeEarly(key: string): void {
  if (key === 'Enter') early = { ...early, isEntered: early.text !== '' }
  else if (key === 'Backspace') early = { ...early, text: early.text.slice(0, -1) }
  else if (key.length === 1) early = { ...early, text: early.text + key }
}
/** Returns the stored keys once, for the field. */
export function takeEarly(): typeof early {
  const typed = early
  early = { text: '', isEntered: false }
  return typed
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
export const useOverlay = (): Overlay | undefined => useSyncExternalStore(subscribe, () => open)
