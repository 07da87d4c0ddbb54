import './device.css'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { DeviceActions } from './device-actions.tsx'
import { DeviceTabs } from './device-tabs.tsx'
import { useDeviceKeys } from './use-device-keys.ts'

const crumbs = [{ to: '/admin/devices', label: 'Devices' }]

/** B5: page of one device. */
export function Page() {
  const { device_id = '' } = useParams({ strict: false }) as { device_id?: string }
  const query = useApi('GET /v1/admin/devices/{device_id}', { params: { device_id } })
  const device = query.data
  useDeviceKeys(device)
  useEffect(() => {
    if (device) document.title = `${device.name} · Devices · Holdfast`
  }, [device])
  if (!device)
    return (
      <div className="page">
        <PageHead title="Device" crumbs={crumbs} />
        {query.error ? (
          <Problem
            error={query.error}
            retry={query.refetch}
            what="this device"
            elsewhere={<ButtonLink to="/admin/devices">All devices</ButtonLink>}
          />
        ) : (
          <SkeletonLines />
        )}
      </div>
    )
  return (
    <div className="page">
      <PageHead
        title={device.name}
        crumbs={[
          ...crumbs,
          ...(device.user_id === null
            ? []
            : [{ to: `/admin/devices?user_id=${device.user_id}`, label: device.user_name ?? device.user_id }]),
        ]}
        sub={
          <span className="row">
            <DeviceStatus device={device} />
            <span className="faint">·</span>
            {device.presence === 'never' ? 'never seen' : device.presence}
            {device.effective_channel === 'canary' && <Badge kind="info">canary</Badge>}
          </span>
        }
        actions={<DeviceActions device={device} />}
      />
      {query.error && (
        <Problem error={query.error} retry={query.refetch} what="this device" asOf={query.dataUpdatedAt} />
      )}
      <DeviceTabs device={device} />
    </div>
  )
}
