import { useNavigate } from '@tanstack/react-router'
import { useApi } from '../../api/use-api.ts'
import { PanelMoves, useFocusWhenOpened } from '../../table/panel-parts.tsx'
import { Icon } from '../../ui/icon.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { Kbd } from '../../ui/kbd.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { deviceIcon } from '../devices/words.ts'
import { DeviceActions } from './device-actions.tsx'
import { DeviceTabs } from './device-tabs.tsx'

type Props = {
  deviceId: string
  /** The devices of the page, in their order. */
  ids: readonly string[]
  onMove: (id: string) => void
  onClose: () => void
}

/** B5 beside the list: the list stays, and the arrows walk it. */
export function DevicePanel({ deviceId, ids, onMove, onClose }: Props) {
  const query = useApi('GET /v1/admin/devices/{device_id}', { params: { device_id: deviceId } })
  const navigate = useNavigate()
  const device = query.data
  const panel = useFocusWhenOpened()
  return (
    <aside className="panel" aria-label={`Device ${device?.name ?? ''}`} ref={panel} tabIndex={-1}>
      <header>
        <div className="row between">
          <div className="row">
            <Icon name={device ? deviceIcon(device) : 'laptop'} />
            <h2 className="trunc">{device?.name ?? '…'}</h2>
          </div>
          <div className="row tight">
            <PanelMoves noun="device" id={deviceId} ids={ids} onMove={onMove} />
            <IconButton
              icon="ext"
              label="Open as a page"
              onClick={() => void navigate({ to: `/admin/devices/${deviceId}` })}
            />
            <IconButton icon="x" label="Close panel" onClick={onClose} />
          </div>
        </div>
        {device && (
          <div className="row wrap">
            <DeviceStatus device={device} />
            <span className="faint">·</span>
            <span>{device.user_name ?? 'no user'}</span>
            <span className="faint">·</span>
            <span className="soft">{device.presence === 'never' ? 'never seen' : device.presence}</span>
          </div>
        )}
        {device && <DeviceActions device={device} size="sm" />}
      </header>
      {query.error && !device && <Problem error={query.error} retry={query.refetch} what="this device" />}
      {!device && !query.error && <SkeletonRows columns={2} />}
      {device && <DeviceTabs device={device} inPanel />}
      <footer className="hints" aria-hidden="true">
        <span className="hint">
          <Kbd>l</Kbd> lost
        </span>
        <span className="hint">
          <Kbd>Esc</Kbd> close
        </span>
      </footer>
    </aside>
  )
}
