import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Icon } from '../../ui/icon.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { type Device, deviceIcon, systemOf } from '../devices/words.ts'
import type { User } from '../users/words.ts'
import { Part, type TabProps } from './part.tsx'

const most = 50

/** Devices of the user, newest sign of life first. */
export const DevicesTab = ({ user, inPanel }: TabProps) => (
  <Part
    title="Devices"
    inPanel={inPanel}
    aside={
      <AppLink className="xs" to={`/admin/devices?user_id=${user.user_id}`}>
        Open list
      </AppLink>
    }
  >
    <DeviceList user={user} limit={most} />
  </Part>
)

/** Reads the devices of a user that are not revoked. */
function useDevicesOf(user_id: string, limit: number) {
  const enabled = useCan()('devices:read')
  return useApi('GET /v1/admin/devices', { query: { user_id, limit, sort: '-last_seen_at' } }, { enabled })
}

export const DeviceList = ({ user, limit }: { user: User; limit: number }) => (
  <QueryView query={useDevicesOf(user.user_id, limit)} what="the devices of this user" permission="devices:read">
    {({ items, next_cursor }) =>
      items.length === 0 ? (
        <p className="soft">
          No device. One belongs to the user when it enrolls with a token or a sign-in of the user.
        </p>
      ) : (
        <ul className="objects">
          {items.map((device) => (
            <DeviceLine key={device.device_id} device={device} />
          ))}
          {next_cursor !== null && (
            <li className="more">
              <AppLink to={`/admin/devices?user_id=${user.user_id}`}>All devices of this user</AppLink>
            </li>
          )}
        </ul>
      )
    }
  </QueryView>
)

const DeviceLine = ({ device }: { device: Device }) => (
  <li>
    <Icon name={deviceIcon(device)} size="s" />
    <AppLink className="rowlink" to={`/admin/devices/${device.device_id}`}>
      {device.name}
    </AppLink>
    <span className="soft trunc">{systemOf(device)}</span>
    <span className="push">
      <Deviation device={device} />
    </span>
  </li>
)

/** What deviates: the status, then the posture; else the last sign of life. */
function Deviation({ device }: { device: Device }) {
  if (device.effective_status !== 'active') return <DeviceStatus device={device} />
  if (device.posture.verdict === 'non_compliant') return <Status kind="bad">posture fails</Status>
  if (device.presence === 'online') return <span className="soft">online</span>
  return <Timestamp at={device.last_seen_at} className="soft" empty="never seen" />
}
