import '../device/device.css'
import { useCallback, useMemo } from 'react'
import { call } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { type DeviceDeed, openOverlay } from '../../shell/overlay.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import { filtersInUse } from '../../table/filters-in-use.ts'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import type { FacetCounts } from '../../table/spec.ts'
import { FirstRun } from '../../ui/empty-state.tsx'
import { deviceMenu } from '../device/device-actions.tsx'
import { deviceKeys } from '../device/device-keys.ts'
import { DevicePanel } from '../device/lazy-panel.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'
import { DevicesHead } from './devices-head.tsx'
import { devicesSpec } from './spec.tsx'
import type { Device } from './words.ts'

const filters = [...devicesSpec.filters, ...(devicesSpec.linkedFilters ?? [])]
const filterNames = ['q', ...filters.map((filter) => filter.name)]

/** B4: all devices of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, devicesSpec.defaultSort)
  const filter = useMemo(() => ({ ...state.filters, ...(state.q && { q: state.q }) }), [state.filters, state.q])
  const query = useListPage('GET /v1/admin/devices', state, { count: 'estimate' })
  const facets = useApi('GET /v1/admin/devices/facets', { query: filter }, { keepsLast: true })
  const counts = facets.data?.facets as FacetCounts | undefined
  const devices = query.data?.items
  const ids = useMemo(() => devices?.map((device) => device.device_id) ?? [], [devices])
  const selection = useSelection(ids, state)
  const off = useOffReason()
  const spec = useMemo(() => ({ ...devicesSpec, menuOf: (device: Device) => deviceMenu(device, off) }), [off])
  const countAll = useCallback(async () => {
    const body = { operation: 'suspend' as const, filter, dry_run: true }
    return (await call('POST /v1/admin/devices/batch', { body })).matched
  }, [filter])
  const askForMany = (deed: DeviceDeed, matched: number | undefined) => {
    const filterWords = filtersInUse(spec, state, counts, devices).map((f) => `${f.label.toLowerCase()} ${f.value}`)
    const target =
      matched === undefined
        ? { devices: devices?.filter((device) => selection.ids.has(device.device_id)) ?? [] }
        : { devices: devices ?? [], filter, filterWords, matched }
    openOverlay({ kind: 'device_deed', deed, target, onDone: selection.clear })
  }
  const verbs = useMemo(() => deviceKeys((id) => devices?.find((d) => d.device_id === id), off), [devices, off])
  const isEmpty = devices?.length === 0 && Object.keys(filter).length === 0
  // A list on a single page is counted here: the counts of the server are some seconds old.
  const isWhole = devices && state.cursor === undefined && query.data?.next_cursor === null
  const matching = isWhole && !query.isPlaceholderData ? { count: devices.length, exact: true } : facets.data?.total
  return (
    <ListView
      spec={spec}
      state={state}
      query={query}
      counts={counts}
      selection={selection}
      verbs={verbs}
      hrefOf={(id) => `/admin/devices/${id}`}
      head={<DevicesHead isEmpty={isEmpty} matching={Object.keys(filter).length > 0 ? matching : undefined} />}
      firstRun={<NoDevices />}
      bulk={
        <BulkBar
          spec={spec}
          selection={selection}
          shownCount={ids.length}
          hasMore={query.data?.next_cursor != null || state.cursor !== undefined}
          verbs={[
            { id: 'approve', label: 'Approve', offReason: off('devices:write') },
            // A bulk suspension needs more than the permission to suspend one device.
            { id: 'suspend', label: 'Suspend', offReason: off('devices:write') },
            { id: 'reactivate', label: 'Reactivate', offReason: off('devices:write') },
            { id: 'revoke', label: 'Revoke', danger: true, offReason: off('devices:write') },
          ]}
          countAll={countAll}
          onVerb={(id, matched) => askForMany(id as DeviceDeed, matched)}
        />
      }
      panel={(walk) => <DevicePanel {...walk} known={devices?.find((device) => device.device_id === walk.id)} />}
    />
  )
}

function NoDevices() {
  return (
    <FirstRun
      title="No devices yet"
      sentence="A device joins with an enrollment token. Create one and run its line on the device. The device then appears here."
      action={<EnrollButton label="Enroll the first device" />}
      command="holdfast token create --print-install"
    />
  )
}
