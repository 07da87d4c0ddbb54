import { useNavigate } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.ts'
import { Dot, SidePanel, type Walk } from '../../table/side-panel.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { type Device, deviceIcon } from '../devices/words.ts'
import { DeviceActions } from './device-actions.tsx'
import { DeviceTabs } from './device-tabs.tsx'

type Props = Walk & {
  /** Device from the list, shown until the newer response arrives. */
  known: Device | undefined
}

/** B5: one device beside the list. */
export function DevicePanel({ known, ...walk }: Props) {
  const query = useApi('GET /v1/admin/devices/{device_id}', { params: { device_id: walk.id } })
  const navigate = useNavigate()
  const device = query.data ?? known
  return (
    <SidePanel
      {...walk}
      noun="device"
      name={device?.name}
      icon={device ? deviceIcon(device) : 'laptop'}
      tools={
        <IconButton
          icon="ext"
          label="Open as a page"
          onClick={() => void navigate({ to: `/admin/devices/${walk.id}` })}
        />
      }
      facts={device && <Facts device={device} />}
      actions={device && <DeviceActions device={device} size="sm" />}
      hints={[{ keys: ['l'], does: 'lost' }]}
    >
      <QueryView query={{ ...query, data: device }} what="this device">
        {(shown) => <DeviceTabs device={shown} inPanel />}
      </QueryView>
    </SidePanel>
  )
}

const Facts = ({ device }: { device: Device }) => (
  <>
    <DeviceStatus device={device} />
    <Dot />
    {device.user_id === null ? (
      <span>no user</span>
    ) : (
      <AppLink to={`/admin/users/${device.user_id}`}>{device.user_name ?? device.user_id}</AppLink>
    )}
    <Dot />
    <span className="soft">{device.presence === 'never' ? 'never seen' : device.presence}</span>
  </>
)
