import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import type { DeviceRef } from '../../shell/overlay.ts'
import { Icon, type IconName } from '../../ui/icon.tsx'

export type Gateway = OutputOf<'GET /v1/admin/gateway/health'>['items'][number]
const most = 200

/** Returns the gateways of the tenant; undefined if they are unknown or too many to show. */
export function useGateways(): readonly Gateway[] | undefined {
  const can = useCan()
  const { data } = useApi(
    'GET /v1/admin/gateway/health',
    { query: { limit: most } },
    { enabled: can('operations:read') },
  )
  return data?.next_cursor === null ? data.items : undefined
}

type Props = { device: DeviceRef; gateways: readonly Gateway[] | undefined; isForGood: boolean }

/** Effects of the playbook before it runs. */
export function LostDevicePreview({ device: { device_id, name }, gateways, isForGood }: Props) {
  const can = useCan()
  const device = useApi('GET /v1/admin/devices/{device_id}', { params: { device_id } }).data
  const certificates = useApi(
    'GET /v1/admin/spc',
    { query: { device_id, status: 'active', limit: 50 } },
    { enabled: can('spc:read') && isForGood },
  ).data?.items.length
  const reachable = gateways?.filter(isReachable).length
  const effects: [IconName, string | false | null | undefined][] = [
    [
      isForGood ? 'ban' : 'lock',
      `${isForGood ? 'Revokes' : 'Locks'} ${name}${device?.user_name ? ` of ${device.user_name}` : ''}`,
    ],
    ['out', device?.session && `Ends its session on ${device.session.gateway_name ?? 'its gateway'}`],
    [
      'cert',
      isForGood && certificates
        ? `Revokes ${certificates} ${certificates === 1 ? 'certificate' : 'certificates'}`
        : false,
    ],
    ['key', isForGood && 'Its keys and credentials stop working'],
    ['server', waitOf(gateways?.length, reachable)],
  ]
  return (
    <ul className="effects">
      {effects.map(
        ([icon, text]) =>
          text && (
            <li key={icon}>
              <Icon name={icon} />
              <span>{text}</span>
            </li>
          ),
      )}
    </ul>
  )
}

function waitOf(gateways: number | undefined, reachable = 0): string {
  if (gateways === undefined) return 'Waits until every reachable gateway confirms'
  if (reachable === 0)
    return gateways === 0
      ? 'No gateway runs, so none has to confirm'
      : 'No gateway is reachable, so none has to confirm now'
  return reachable === 1
    ? 'Waits until the reachable gateway confirms'
    : `Waits until all ${reachable} reachable gateways confirm`
}

/** True if a run waits for the gateway. */
const isReachable = ({ status }: Gateway): boolean =>
  status === 'healthy' || status === 'degraded' || status === 'draining'
