import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useRef } from 'react'
import { useApi } from '../../api/use-api.ts'
import { isTyping } from '../../shell/use-shortcuts.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Icon } from '../../ui/icon.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { Kbd } from '../../ui/kbd.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { type Device, deviceIcon } from '../devices/words.ts'
import { DeviceActions } from './device-actions.tsx'
import { DeviceTabs } from './device-tabs.tsx'

type Props = {
  deviceId: string
  /** The device as the list has it, shown until it has been read anew. */
  known: Device | undefined
  /** The devices of the page, in their order. */
  ids: readonly string[]
  onMove: (id: string) => void
  onClose: () => void
}

/** B5 beside the list: the list stays, and the arrows walk it. */
export function DevicePanel({ deviceId, known, ids, onMove, onClose }: Props) {
  const query = useApi('GET /v1/admin/devices/{device_id}', { params: { device_id: deviceId } })
  const device = query.data ?? known
  const at = ids.indexOf(deviceId)
  const [previous, next] = [ids[at - 1], at < 0 ? undefined : ids[at + 1]]
  const panel = useFocusWhenOpened(deviceId)
  const walk = (event: KeyboardEvent) => {
    const to = { ArrowUp: previous, k: previous, ArrowDown: next, j: next }[event.key]
    const isElsewhere = isTyping(event.nativeEvent) || (event.target as HTMLElement).closest('[role="menu"], dialog')
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey || isElsewhere) return
    event.preventDefault()
    onMove(to)
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementInteractions: the arrows walk the list, the buttons do the same
    <aside className="panel" aria-label={`Device ${device?.name ?? ''}`} ref={panel} tabIndex={-1} onKeyDown={walk}>
      <PanelHead {...{ deviceId, device, previous, next, onMove, onClose }} />
      {query.error && !device && <Problem error={query.error} retry={query.refetch} what="this device" />}
      {!device && !query.error && <SkeletonRows columns={2} />}
      {device && <DeviceTabs device={device} inPanel />}
      <footer className="hints" aria-hidden="true">
        <span className="hint">
          <Kbd>
            <Icon name="up" size="s" />
          </Kbd>{' '}
          <Kbd>
            <Icon name="down" size="s" />
          </Kbd>{' '}
          next device
        </span>
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

type HeadProps = Pick<Props, 'deviceId' | 'onMove' | 'onClose'> & {
  device: Device | undefined
  previous: string | undefined
  next: string | undefined
}

function PanelHead({ deviceId, device, previous, next, onMove, onClose }: HeadProps) {
  const navigate = useNavigate()
  return (
    <header>
      <div className="row between">
        <div className="row">
          <Icon name={device ? deviceIcon(device) : 'laptop'} />
          <h2 className="trunc">{device?.name ?? '…'}</h2>
        </div>
        <div className="row tight">
          <Move icon="up" label="Previous device" to={previous} onMove={onMove} />
          <Move icon="down" label="Next device" to={next} onMove={onMove} />
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
          {device.user_id === null ? (
            <span>no user</span>
          ) : (
            <AppLink to={`/admin/devices?user_id=${device.user_id}`}>{device.user_name ?? device.user_id}</AppLink>
          )}
          <span className="faint">·</span>
          <span className="soft">{device.presence === 'never' ? 'never seen' : device.presence}</span>
        </div>
      )}
      {device && <DeviceActions device={device} size="sm" />}
    </header>
  )
}

type MoveProps = { icon: 'up' | 'down'; label: string; to: string | undefined; onMove: (id: string) => void }

const Move = ({ icon, label, to, onMove }: MoveProps) => (
  <IconButton
    icon={icon}
    label={label}
    onClick={() => to && onMove(to)}
    {...(to === undefined && { offReason: 'The page has no more.' })}
  />
)

/** The focus goes into the panel, and to the row of its device when it closes. */
function useFocusWhenOpened(id: string) {
  const ref = useRef<HTMLElement>(null)
  const shown = useRef(id)
  shown.current = id
  useEffect(() => {
    const before = document.activeElement
    ref.current?.focus({ preventScroll: true })
    return () => {
      const row = document.querySelector<HTMLElement>(`tr[data-id="${shown.current}"] [data-row-link]`)
      const next = row ?? before
      if (next instanceof HTMLElement && next.isConnected) next.focus()
    }
  }, [])
  return ref
}
