import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Icon } from '../../ui/icon.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { type Device, deviceIcon, systemOf } from '../devices/words.ts'

type Props = {
  /** Filter of the API: the owner, or a group. */
  of: { user_id: string } | { group_id: string }
  /** Noun of the object with the devices: `user`. */
  noun: 'user' | 'group'
  limit: number
  /** Text if there is no device. */
  empty: string
}

/** Devices of a user or a group, newest sign of life first. */
export function DeviceList({ of, noun, limit, empty }: Props) {
  const enabled = useCan()('devices:read')
  const query = useApi('GET /v1/admin/devices', { query: { ...of, limit, sort: '-last_seen_at' } }, { enabled })
  return (
    <QueryView query={query} what={`the devices of this ${noun}`} permission="devices:read">
      {({ items, next_cursor }) =>
        items.length === 0 ? (
          <p className="soft">{empty}</p>
        ) : (
          <ul className="objects">
            {items.map((device) => (
              <DeviceLine key={device.device_id} device={device} owner={noun === 'group' && device.user_name} />
            ))}
            {next_cursor !== null && (
              <li className="more">
                <AppLink to={devicesHref(of)}>All devices of this {noun}</AppLink>
              </li>
            )}
          </ul>
        )
      }
    </QueryView>
  )
}

/** Path of the list of devices with this filter. */
export const devicesHref = (of: Props['of']): string => `/admin/devices?${new URLSearchParams(of)}`

const DeviceLine = ({ device, owner }: { device: Device; owner: string | false | null }) => (
  <li>
    <Icon name={deviceIcon(device)} size="s" />
    <AppLink className="rowlink" to={`/admin/devices/${device.device_id}`}>
      {device.name}
    </AppLink>
    <span className="soft trunc">{[owner, systemOf(device)].filter(Boolean).join(' · ')}</span>
    <span className="push">
      <Deviation device={device} />
    </span>
  </li>
)

/** The deviation: the status, then the posture; else the last sign of life. */
function Deviation({ device }: { device: Device }) {
  if (device.effective_status !== 'active') return <DeviceStatus device={device} />
  if (device.posture.verdict === 'non_compliant') return <Status kind="bad">posture fails</Status>
  if (device.presence === 'online') return <span className="soft">online</span>
  return <Timestamp at={device.last_seen_at} className="soft" empty="never seen" />
}
