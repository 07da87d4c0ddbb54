import { useOffReason } from '../../api/me.ts'
import { type DeviceDeed, openOverlay } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { copyCommandItem } from '../../ui/copy-command.ts'
import type { IconName } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuAction, MenuItem } from '../../ui/menu-popover.tsx'
import type { Device } from '../devices/words.ts'
import { approveNow } from './approve-now.ts'

/** Opens the confirmation or the sheet of an action on one device. */
const askFor = (deed: DeviceDeed, device: Device): void =>
  openOverlay({ kind: 'device_deed', deed, target: { devices: [device] } })

function askToEnd({ device_id, name, session }: Device): void {
  if (!session) return
  const { session_id } = session
  openOverlay({ kind: 'session_end', target: { sessions: [{ session_id, device_id, device_name: name }] } })
}

/** Actions on a device in order of use: the first as buttons, the others in the menu. */
export function DeviceActions({ device, size }: { device: Device; size?: 'sm' }) {
  const off = useOffReason()
  if (device.status === 'revoked') return null
  const isPending = device.status === 'pending'
  return (
    <div className="row wrap">
      {isPending ? (
        <Button
          {...{ kind: 'primary', size, kbd: 'a', busyLabel: 'Approving…' }}
          offReason={off('devices:write')}
          onClick={() => approveNow(device)}
        >
          Approve
        </Button>
      ) : (
        <Button
          {...{ kind: 'danger', size, icon: 'bolt', kbd: 'l' }}
          offReason={off('incidents:run')}
          onClick={() => askFor('lost', device)}
        >
          Lost device…
        </Button>
      )}
      {device.session && (
        <Button size={size} offReason={off('sessions:terminate')} onClick={() => askToEnd(device)}>
          End session…
        </Button>
      )}
      {device.status === 'suspended' ? (
        <Button size={size} offReason={off('devices:write')} onClick={() => askFor('reactivate', device)}>
          Reactivate…
        </Button>
      ) : (
        !isPending && (
          <Button size={size} offReason={off('devices:suspend')} onClick={() => askFor('suspend', device)}>
            Suspend…
          </Button>
        )
      )}
      <MenuButton label={`More actions for ${device.name}`} items={moreOf(device, off)} />
    </div>
  )
}

/** Returns the menu of a row: all actions that its status allows. */
export function deviceMenu(device: Device, off: ReturnType<typeof useOffReason>): readonly MenuItem[] {
  if (device.status === 'revoked') return [copyItem(device)]
  const deed = (id: DeviceDeed, label: string, icon: IconName, reason: string | undefined): MenuAction => ({
    id,
    label,
    icon,
    offReason: reason,
    onSelect: () => askFor(id, device),
  })
  return [
    ...(device.status === 'pending'
      ? [
          {
            ...deed('approve', 'Approve', 'check', off('devices:write')),
            kbd: 'a',
            onSelect: () => void approveNow(device),
          },
        ]
      : []),
    ...(device.status === 'suspended' ? [deed('reactivate', 'Reactivate…', 'play', off('devices:write'))] : []),
    ...(device.status === 'active' ? [deed('suspend', 'Suspend…', 'pause', off('devices:suspend'))] : []),
    copyItem(device),
    'line',
    ...(device.status === 'pending'
      ? []
      : [{ ...deed('lost', 'Lost device…', 'bolt', off('incidents:run')), danger: true, kbd: 'l' }]),
    revokeItem(device, off),
  ]
}

const moreOf = (device: Device, off: ReturnType<typeof useOffReason>): readonly MenuItem[] => [
  {
    id: 'edit',
    label: 'Edit name, tags, channel…',
    icon: 'edit',
    offReason: off('devices:write'),
    onSelect: () => openOverlay({ kind: 'device_edit', deviceId: device.device_id }),
  },
  copyItem(device),
  'line',
  revokeItem(device, off),
]

const revokeItem = (device: Device, off: ReturnType<typeof useOffReason>): MenuItem => ({
  id: 'revoke',
  label: 'Revoke…',
  icon: 'ban',
  danger: true,
  kbd: 'r',
  offReason: off('devices:write'),
  onSelect: () => askFor('revoke', device),
})

const copyItem = ({ device_id }: Device) => copyCommandItem(`holdfast device show ${device_id}`)
