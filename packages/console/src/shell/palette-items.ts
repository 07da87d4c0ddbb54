import type { Permission } from '@holdfast/contract/vocabulary'
import type { OutputOf } from '../api/client.ts'
import { features } from '../features.ts'
import { deedCommand } from '../routes/device/deed-command.ts'
import { platformWords } from '../routes/devices/words.ts'
import { formatWord } from '../ui/format.ts'
import type { IconName } from '../ui/icon.tsx'
import { documentation } from './documentation.ts'
import { type DeviceDeed, openOverlay, type UserDeed } from './overlay.ts'
import { chooseTheme } from './preferences.ts'
import { signOutOrSay } from './sign-out.ts'

export type Hit = OutputOf<'GET /v1/admin/search'>['items'][number]
/** Devices of a user among the hits, as hits. */
export type Owned = { user: Hit; devices: readonly Hit[] }
/** Line of the palette. */
export type PaletteItem = {
  id: string
  label: string
  sub?: string
  status?: string | undefined
  icon: IconName
  keys?: readonly string[]
  /** Equivalent command line. */
  command?: string | undefined
  run: () => void
}
/** Line that is found by its words too. */
type Searched = PaletteItem & { keywords: string }
export type PaletteGroup = { label: string; items: readonly PaletteItem[] }
type Go = (to: string, search?: Record<string, string>) => void
type Can = (permission: Permission) => boolean

/** Kinds of objects with a view in the console, and the command that shows one. */
const kinds: Readonly<Partial<Record<Hit['kind'], { group: string; icon: IconName; command?: string }>>> = {
  device: { group: 'Devices', icon: 'laptop', command: 'device show' },
  user: { group: 'Users', icon: 'user', command: 'user show' },
  group: { group: 'Groups', icon: 'people', command: 'group show' },
  gateway: { group: 'Gateways', icon: 'server', command: 'gateway show' },
  gateway_pool: { group: 'Pools', icon: 'gateway' },
  enrollment_token: { group: 'Enrollment tokens', icon: 'key', command: 'token show' },
  vpn_session: { group: 'Sessions', icon: 'link', command: 'session show' },
  settings_page: { group: 'Settings', icon: 'admin' },
}
type Deed = { action: Hit['actions'][number]; deed: DeviceDeed; label: string; icon: IconName; effect: string }
const deeds: readonly Deed[] = [
  {
    action: 'lost_device',
    deed: 'lost',
    label: 'Lost device',
    icon: 'bolt',
    effect: 'revokes it, ends its sessions and certificates',
  },
  { action: 'approve', deed: 'approve', label: 'Approve', icon: 'check', effect: 'lets it in' },
  {
    action: 'suspend',
    deed: 'suspend',
    label: 'Suspend',
    icon: 'pause',
    effect: 'keeps it out until it is reactivated',
  },
  { action: 'reactivate', deed: 'reactivate', label: 'Reactivate', icon: 'play', effect: 'lets it in again' },
  { action: 'revoke', deed: 'revoke', label: 'Revoke', icon: 'ban', effect: 'keeps it out for good' },
]

type OfUser = {
  action: Hit['actions'][number]
  act: UserDeed | 'compromised'
  label: string
  icon: IconName
  effect: string
}
const userDeeds: readonly OfUser[] = [
  { action: 'unlock', act: 'unlock', label: 'Unlock', icon: 'lock', effect: 'lets the user sign in again at once' },
  { action: 'reactivate', act: 'reactivate', label: 'Reactivate', icon: 'play', effect: 'restores the access' },
  { action: 'suspend', act: 'suspend', label: 'Suspend', icon: 'pause', effect: 'ends sessions and access' },
  {
    action: 'compromised_user',
    act: 'compromised',
    label: 'Compromised user',
    icon: 'bolt',
    effect: 'locks the user, revokes keys and tokens',
  },
]

type Found = { hits: readonly Hit[]; owned?: Owned | undefined }

/** Returns the groups of the palette in order: actions on the best hit, objects by kind, pages, commands. */
export function paletteGroups(text: string, { hits, owned }: Found, can: Can, go: Go): PaletteGroup[] {
  const commandsOnly = text.startsWith('>')
  const wanted = text.replace(/^>\s*/, '').toLowerCase()
  const objects = commandsOnly ? [] : hits.filter(isShown)
  const byKind = Map.groupBy(objects, (hit) => kinds[hit.kind]?.group ?? '')
  const device = objects.find((hit) => hit.kind === 'device') ?? onlyDevice(owned)
  const user = device && device.id !== onlyDevice(owned)?.id ? undefined : objects.find((hit) => hit.kind === 'user')
  const groups = Array.from(byKind, ([label, found]) => ({ label, items: found.map((hit) => objectItem(hit, go)) }))
  if (owned) {
    const items = owned.devices.map((hit) => objectItem(hit, go))
    groups.splice(groups.findIndex(({ label }) => label === 'Users') + 1, 0, {
      label: `Devices of ${owned.user.name}`,
      items,
    })
  }
  // The list filter matches the same devices as the search: without a device here, the list would be empty.
  const listed = !commandsOnly && objects.some(({ kind }) => kind === 'device')
  return [
    { label: 'Actions', items: [...(device ? actionsOn(device) : []), ...(user ? actionsOnUser(user) : [])] },
    ...groups,
    { label: 'Go to', items: commandsOnly ? [] : places(wanted, { can, go, listed }) },
    { label: 'Commands', items: commands(wanted, can, go) },
  ].filter((group) => group.items.length > 0)
}

/** True if the hit has a view: a kind or a settings page without one has no target. */
const isShown = ({ kind, id }: Hit): boolean =>
  kind === 'settings_page' ? features.some((f) => f.path === id) : kinds[kind] !== undefined

/** Returns the only device of a user. With several devices the reader has to choose. */
const onlyDevice = (owned: Owned | undefined): Hit | undefined =>
  owned?.devices.length === 1 ? owned.devices[0] : undefined

function actionsOn(device: Hit): PaletteItem[] {
  return deeds
    .filter(({ action }) => device.actions.includes(action))
    .map(({ deed, label, icon, effect }) => ({
      id: `${deed}-${device.id}`,
      label: `${label}: ${device.name}`,
      icon,
      sub: [detailOf(device), effect].filter(Boolean).join(' · '),
      command: deedCommand(deed, { devices: [{ device_id: device.id, name: device.name }] }),
      run: () =>
        openOverlay({ kind: 'device_deed', deed, target: { devices: [{ device_id: device.id, name: device.name }] } }),
    }))
}

function actionsOnUser(hit: Hit): PaletteItem[] {
  const user = { user_id: hit.id, username: hit.name }
  return userDeeds
    .filter(({ action }) => hit.actions.includes(action))
    .map(({ act, label, icon, effect }) => ({
      id: `${act}-${hit.id}`,
      label: `${label}: ${hit.name}`,
      icon,
      sub: [detailOf(hit), effect].filter(Boolean).join(' · '),
      command:
        act === 'compromised'
          ? commandLine('incident run compromised_user', `user_id=${hit.id}`)
          : commandLine(`user ${act}`, hit.id),
      run: () =>
        openOverlay(
          act === 'compromised' ? { kind: 'user', act, user } : { kind: 'user', act: 'deed', deed: act, users: [user] },
        ),
    }))
}

function objectItem(hit: Hit, go: Go): PaletteItem {
  const { icon = 'search', command } = kinds[hit.kind] ?? {}
  return {
    id: hit.id,
    label: hit.name,
    icon,
    ...(hit.status !== null && { status: formatWord(hit.status) }),
    ...(command !== undefined && { command: commandLine(command, hit.id) }),
    ...(hit.detail && { sub: detailOf(hit) }),
    run: () => open(hit, go),
  }
}

/** Returns the detail of a hit, with the shown name of the platform at the start of a device's detail. */
const detailOf = ({ kind, detail }: Hit): string =>
  kind === 'device'
    ? (detail ?? '').replace(/^\w+/, (word) => platformWords[word as keyof typeof platformWords] ?? word)
    : (detail ?? '')

function open({ kind, id }: Hit, go: Go): void {
  if (kind === 'device') go(`/admin/devices/${id}`)
  else if (kind === 'user') go(`/admin/users/${id}`)
  else if (kind === 'group') go(`/admin/groups/${id}`)
  else if (kind === 'gateway') go('/admin/sessions', { gateway_id: id })
  else if (kind === 'vpn_session') go('/admin/sessions', { open: id })
  else if (kind === 'enrollment_token') go('/admin/enrollment', { open: id })
  else if (kind === 'gateway_pool') go('/admin/sessions', { pool_id: id })
  else if (kind === 'settings_page') go(id)
}

type PlacesInput = { can: Can; go: Go; listed: boolean }

function places(wanted: string, { can, go, listed }: PlacesInput): PaletteItem[] {
  const search: PaletteItem[] =
    wanted !== '' && listed
      ? [
          {
            id: 'match',
            label: `Devices that match “${wanted}”`,
            icon: 'search',
            keys: ['g', 'd'],
            run: () => go('/admin/devices', { q: wanted }),
          },
        ]
      : []
  const views = features
    .filter((f) => f.permission === undefined || can(f.permission))
    .filter((f) => matches(wanted, f.label, f.keywords))
    .map(
      (f): PaletteItem => ({
        id: f.path,
        label: f.label,
        icon: 'arrow',
        ...(f.shortcut && { keys: ['g', f.shortcut] }),
        run: () => go(f.path),
      }),
    )
  return [...search, ...views]
}

const commandLine = (command: string, argument: string): string => `holdfast ${command} ${argument}`

function commands(wanted: string, can: Can, go: Go): PaletteItem[] {
  const ofViews = features
    .flatMap((f) => f.actions ?? [])
    .filter((action) => can(action.permission) && matches(wanted, action.label, action.keywords))
    .map(({ label, icon, to }) => ({ id: `do-${to}`, label, icon, run: () => go(to) }))
  const opened = sheets.filter(({ needs }) => can(needs)).map((sheet) => sheetItem(sheet, go))
  const others = [...opened, ...ofShell()]
  return [...ofViews, ...others.filter(({ label, keywords }) => matches(wanted, label, keywords))]
}

type SheetCommand = {
  label: string
  /** View behind the sheet. */
  path: string
  needs: Permission
  keywords: string
  icon: IconName
  overlay: Parameters<typeof openOverlay>[0]
}
const sheets: readonly SheetCommand[] = [
  {
    label: 'Add user',
    path: '/admin/users',
    needs: 'users:write',
    icon: 'plus',
    keywords: 'new create person account',
    overlay: { kind: 'user', act: 'create' },
  },
  {
    label: 'Create group',
    path: '/admin/groups',
    needs: 'groups:write',
    icon: 'plus',
    keywords: 'new add team',
    overlay: { kind: 'group', act: 'create' },
  },
  {
    label: 'Grant role',
    path: '/admin/roles',
    needs: 'rbac:write',
    icon: 'policy',
    keywords: 'administrator permission give',
    overlay: { kind: 'user', act: 'grant_role' },
  },
]

const sheetItem = ({ label, path, icon, keywords, overlay }: SheetCommand, go: Go): Searched => ({
  id: label.toLowerCase().replaceAll(' ', '-'),
  label,
  icon,
  keywords,
  run: () => {
    go(path)
    openOverlay(overlay)
  },
})

/** Returns the commands of the shell itself. */
const ofShell = (): Searched[] => [
  ...(['light', 'dark', 'system'] as const).map(
    (theme): Searched => ({
      id: `theme-${theme}`,
      label: `Theme: ${theme}`,
      icon: 'theme',
      keywords: 'appearance colors mode',
      run: () => chooseTheme(theme),
    }),
  ),
  {
    id: 'help',
    label: 'Keyboard shortcuts',
    icon: 'help',
    keys: ['?'],
    keywords: 'help keys',
    run: () => openOverlay({ kind: 'help' }),
  },
  {
    id: 'documentation',
    label: 'Documentation',
    icon: 'help',
    keywords: 'docs manual guide help how to',
    run: () => location.assign(documentation),
  },
  {
    id: 'sign-out',
    label: 'Sign out',
    icon: 'out',
    keywords: 'log out leave',
    run: () => void signOutOrSay(),
  },
]

/**
 * True if each typed word is the start of a word in the label or the keywords, or the label contains the typed text.
 */
function matches(wanted: string, label: string, keywords = ''): boolean {
  const known = `${label} ${keywords}`.toLowerCase().split(/\W+/)
  const typed = wanted.split(/\s+/)
  return typed.every((part) => known.some((word) => word.startsWith(part))) || label.toLowerCase().includes(wanted)
}
