import { useCallback, useMemo } from 'react'
import { call } from '../../api/client.ts'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { type DeviceDeed, openOverlay } from '../../shell/overlay.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import type { FacetCounts } from '../../table/filter-bar.tsx'
import { useListState } from '../../table/list-state.ts'
import { ListView, pageSize } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import { FirstRun } from '../../ui/empty-state.tsx'
import { formatNumber } from '../../ui/format.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { deviceMenu } from '../device/device-actions.tsx'
import { DevicePanel } from '../device/panel.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'
import { devicesSpec } from './spec.tsx'
import type { Device } from './words.ts'

const filterNames = [...devicesSpec.filters.map((filter) => filter.name), 'user_id', 'token_id', 'gateway_id']

/** B4: all devices of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, devicesSpec.defaultSort)
  const filter = useMemo(() => ({ ...state.filters, ...(state.q && { q: state.q }) }), [state.filters, state.q])
  const page = { sort: state.sort, limit: pageSize, cursor: state.cursor, count: 'estimate' }
  const query = useApi('GET /v1/admin/devices', { query: { ...filter, ...page } as object }, { keepsLast: true })
  const facets = useApi('GET /v1/admin/devices/facets', { query: filter }, { keepsLast: true })
  const devices = query.data?.items
  const ids = useMemo(() => devices?.map((device) => device.device_id) ?? [], [devices])
  const selection = useSelection(ids)
  const off = useOffReason()
  const spec = useMemo(() => ({ ...devicesSpec, menuOf: (device: Device) => deviceMenu(device, off) }), [off])
  const countAll = useCallback(
    async () =>
      (await call('POST /v1/admin/devices/batch', { body: { operation: 'suspend', filter, dry_run: true } })).matched,
    [filter],
  )
  const askForMany = (deed: DeviceDeed, matched: number | undefined) =>
    openOverlay({
      kind: 'device_deed',
      deed,
      target:
        matched === undefined
          ? { devices: devices?.filter((device) => selection.ids.has(device.device_id)) ?? [] }
          : { filter, matched },
      onDone: selection.clear,
    })
  const verbs = useMemo(() => keyVerbs(devices ?? []), [devices])
  return (
    <div className="split">
      <ListView
        spec={spec}
        state={state}
        query={query}
        counts={facets.data?.facets as FacetCounts | undefined}
        selection={selection}
        verbs={verbs}
        hrefOf={(id) => `/admin/devices/${id}`}
        onOpen={(id) => state.set({ open: id })}
        head={<Head />}
        firstRun={<NoDevices />}
        bulk={
          <BulkBar
            spec={spec}
            selection={selection}
            shownCount={ids.length}
            hasMore={query.data?.next_cursor != null}
            verbs={[
              { id: 'approve', label: 'Approve', offReason: off('devices:write') },
              { id: 'suspend', label: 'Suspend', offReason: off('devices:suspend') },
              { id: 'reactivate', label: 'Reactivate', offReason: off('devices:write') },
              { id: 'revoke', label: 'Revoke', danger: true, offReason: off('devices:write') },
            ]}
            countAll={countAll}
            onVerb={(id, matched) => askForMany(id as DeviceDeed, matched)}
          />
        }
      />
      {state.open && (
        <DevicePanel
          key={state.open}
          deviceId={state.open}
          ids={ids}
          onMove={(id) => state.set({ open: id }, { replace: true })}
          onClose={() => state.set({ open: undefined })}
        />
      )}
    </div>
  )
}

/** Keys on a row: `l` lost, `r` revoke, `a` approve. They open the question; nothing is done at once. */
function keyVerbs(devices: readonly Device[]): Readonly<Record<string, (id: string) => void>> {
  const ask = (deed: DeviceDeed) => (id: string) => {
    const device = devices.find((d) => d.device_id === id)
    if (device) openOverlay({ kind: 'device_deed', deed, target: { devices: [device] } })
  }
  return { l: ask('lost'), r: ask('revoke'), a: ask('approve') }
}

function Head() {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: can('operations:read') })
  const status = data?.devices.effective_status
  const waits = status && status.pending > 0 && `${formatNumber(status.pending)} wait for approval`
  return (
    <PageHead
      title="Devices"
      sub={status && [`${formatNumber(status.active)} active`, waits].filter(Boolean).join(' · ')}
      actions={<EnrollButton />}
    />
  )
}

function NoDevices() {
  return (
    <FirstRun
      title="No devices yet"
      sentence="A device joins with an enrollment token. Make one, run the line on the device, and it appears here."
      action={<EnrollButton label="Enroll the first device" />}
      command="holdfast token create --print-install"
    />
  )
}
