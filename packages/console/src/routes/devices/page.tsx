import { useMemo } from 'react'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useListState } from '../../table/list-state.ts'
import { ListView, pageSize } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { formatNumber } from '../../ui/format.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { devicesSpec } from './spec.tsx'

const filterNames = [...devicesSpec.filters.map((filter) => filter.name), 'user_id', 'token_id', 'gateway_id']

/** B4: all devices of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, devicesSpec.defaultSort)
  const filter = { ...state.filters, ...(state.q && { q: state.q }) }
  const query = useApi(
    'GET /v1/admin/devices',
    {
      query: {
        ...filter,
        sort: state.sort as '-enrolled_at',
        limit: pageSize,
        cursor: state.cursor,
        count: 'estimate',
      } as never,
    },
    { keepsLast: true },
  )
  const facets = useApi('GET /v1/admin/devices/facets', { query: filter as never }, { keepsLast: true })
  const ids = useMemo(() => query.data?.items.map((device) => device.device_id) ?? [], [query.data])
  const selection = useSelection(ids)
  return (
    <ListView
      spec={devicesSpec}
      state={state}
      query={query}
      counts={counts(facets.data?.facets)}
      selection={selection}
      hrefOf={(id) => `/admin/devices/${id}`}
      onOpen={(id) => state.set({ open: id })}
      head={<Head />}
      firstRun={<NoDevices />}
    />
  )
}

/** The facet of the effective status stands under the name of its filter. */
const counts = (facets: Record<string, unknown> | undefined) => facets as never

function Head() {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: can('operations:read') })
  const status = data?.devices.effective_status
  const sub =
    status &&
    `${formatNumber(status.active)} active${status.pending > 0 ? ` · ${formatNumber(status.pending)} wait for approval` : ''}`
  return (
    <PageHead
      title="Devices"
      {...(sub && { sub })}
      actions={
        can('enrollment_tokens:write') && (
          <ButtonLink kind="primary" icon="plus" to="/admin/enrollment/new">
            Enroll device
          </ButtonLink>
        )
      }
    />
  )
}

function NoDevices() {
  const can = useCan()
  return (
    <FirstRun
      title="No devices yet"
      sentence="A device joins with an enrollment token. Make one, run the line on the device, and it appears here."
      {...(can('enrollment_tokens:write') && {
        action: (
          <ButtonLink kind="primary" to="/admin/enrollment/new">
            Enroll the first device
          </ButtonLink>
        ),
      })}
      command="holdfast token create --one-time --print-install"
    />
  )
}
