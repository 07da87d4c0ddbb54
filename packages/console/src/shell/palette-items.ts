import type { Permission } from '@holdfast/contract/vocabulary'
import type { OutputOf } from '../api/client.ts'
import { features } from '../features.ts'
import { deedCommand } from '../routes/device/deed-command.ts'
import type { IconName } from '../ui/icon.tsx'
import { type DeviceDeed, openOverlay } from './overlay.ts'

export type Hit = OutputOf<'GET /v1/admin/search'>['items'][number]
/** A line of the palette. */
export type PaletteItem = {
  id: string
  label: string
  sub?: string
  status?: string | undefined
  icon: IconName
  keys?: readonly string[]
  /** The same on the command line. */
  command?: string | undefined
  run: () => void
}
export type PaletteGroup = { label: string; items: readonly PaletteItem[] }
type Go = (to: string, search?: Record<string, string>) => void
type Can = (permission: Permission) => boolean

const kinds: Readonly<Record<Hit['kind'], { group: string; icon: IconName }>> = {
  device: { group: 'Devices', icon: 'laptop' },
  user: { group: 'Users', icon: 'user' },
  group: { group: 'Groups', icon: 'people' },
  gateway: { group: 'Gateways', icon: 'server' },
  gateway_pool: { group: 'Pools', icon: 'gateway' },
  enrollment_token: { group: 'Enrollment tokens', icon: 'key' },
  vpn_session: { group: 'Sessions', icon: 'link' },
  api_key: { group: 'API keys', icon: 'key' },
  policy_version: { group: 'Policy versions', icon: 'policy' },
  policy_resource: { group: 'Resources', icon: 'globe' },
  settings_page: { group: 'Settings', icon: 'admin' },
}
const deeds: readonly { action: Hit['actions'][number]; deed: DeviceDeed; label: string; icon: IconName }[] = [
  { action: 'lost_device', deed: 'lost', label: 'Lost device', icon: 'bolt' },
  { action: 'approve', deed: 'approve', label: 'Approve', icon: 'check' },
  { action: 'suspend', deed: 'suspend', label: 'Suspend', icon: 'pause' },
  { action: 'reactivate', deed: 'reactivate', label: 'Reactivate', icon: 'play' },
  { action: 'revoke', deed: 'revoke', label: 'Revoke', icon: 'ban' },
]

/** Actions on the best hit, then objects by kind, then places to go to: the order of the palette. */
export function paletteGroups(text: string, hits: readonly Hit[], can: Can, go: Go): PaletteGroup[] {
  const commandsOnly = text.startsWith('>')
  const wanted = text.replace(/^>\s*/, '').toLowerCase()
  const objects = commandsOnly ? [] : hits
  const byKind = Map.groupBy(objects, (hit) => kinds[hit.kind].group)
  return [
    { label: 'Actions', items: commandsOnly ? [] : actionsOn(objects) },
    ...Array.from(byKind, ([label, found]) => ({ label, items: found.map((hit) => objectItem(hit, go)) })),
    { label: 'Go to', items: commandsOnly ? [] : places(wanted, can, go) },
    { label: 'Commands', items: commands(wanted, can, go) },
  ].filter((group) => group.items.length > 0)
}

function actionsOn(hits: readonly Hit[]): PaletteItem[] {
  const device = hits.find((hit) => hit.kind === 'device')
  if (!device) return []
  return deeds
    .filter(({ action }) => device.actions.includes(action))
    .map(({ deed, label, icon }) => ({
      ...{ id: `${deed}-${device.id}`, label: `${label}: ${device.name}`, icon },
      ...(device.detail && { sub: device.detail }),
      command: deedCommand(deed, { devices: [{ device_id: device.id, name: device.name }] }),
      run: () =>
        openOverlay({ kind: 'device_deed', deed, target: { devices: [{ device_id: device.id, name: device.name }] } }),
    }))
}

function objectItem(hit: Hit, go: Go): PaletteItem {
  return {
    ...{ id: hit.id, label: hit.name, icon: kinds[hit.kind].icon, status: hit.status ?? undefined },
    ...(hit.detail && { sub: hit.detail }),
    run: () => open(hit, go),
  }
}

function open({ kind, id, name }: Hit, go: Go): void {
  if (kind === 'device') go(`/admin/devices/${id}`)
  else if (kind === 'user') go('/admin/devices', { user_id: id })
  else if (kind === 'group') go('/admin/devices', { group_id: id })
  else if (kind === 'gateway') go('/admin/sessions', { gateway_id: id })
  else if (kind === 'vpn_session') go('/admin/sessions', { open: id })
  else if (kind === 'enrollment_token') go('/admin/enrollment', { open: id })
  else if (kind === 'settings_page') go(id)
  else go('/admin/devices', { q: name })
}

function places(wanted: string, can: Can, go: Go): PaletteItem[] {
  const search: PaletteItem[] =
    wanted !== '' && can('devices:read')
      ? [
          {
            ...{ id: 'match', label: `Devices that match “${wanted}”`, icon: 'search', keys: ['g', 'd'] },
            run: () => go('/admin/devices', { q: wanted }),
          },
        ]
      : []
  const views = features
    .filter((f) => f.permission === undefined || can(f.permission))
    .filter((f) => matches(wanted, f.label, f.keywords))
    .map(
      (f): PaletteItem => ({
        ...{ id: f.path, label: f.label, icon: 'arrow' },
        ...(f.shortcut && { keys: ['g', f.shortcut] }),
        run: () => go(f.path),
      }),
    )
  return [...search, ...views]
}

const commands = (wanted: string, can: Can, go: Go): PaletteItem[] =>
  features
    .flatMap((f) => f.actions ?? [])
    .filter((action) => can(action.permission) && matches(wanted, action.label, action.keywords))
    .map(({ label, icon, to }) => ({ id: `do-${to}`, label, icon, run: () => go(to) }))

const matches = (wanted: string, label: string, keywords = ''): boolean =>
  `${label} ${keywords}`
    .toLowerCase()
    .split(' ')
    .some((word) => word.startsWith(wanted)) || label.toLowerCase().includes(wanted)
