import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { acknowledge } from '../../shell/acknowledge.ts'
import type { Alert } from '../../shell/open-alerts.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import { useListState } from '../../table/list-state.ts'
import { ListView, pageSize } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import type { ListSpec } from '../../table/spec.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { approveWaiting } from './approve-waiting.ts'
import { AlertPanel } from './panel.tsx'
import { Quiet } from './quiet.tsx'
import { alertsSpec } from './spec.tsx'
import { openLabel, subjectPath } from './words.ts'

const filterNames = alertsSpec.filters.map((filter) => filter.name)

/** B2: what somebody should know of or decide, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, alertsSpec.defaultSort)
  const page = { sort: state.sort, limit: pageSize, cursor: state.cursor }
  const query = useApi(
    'GET /v1/admin/notifications',
    { query: { ...state.filters, ...page } as object },
    { keepsLast: true },
  )
  const alerts = query.data?.items
  const ids = useMemo(() => alerts?.map((alert) => alert.notification_id) ?? [], [alerts])
  const selection = useSelection(ids)
  const off = useOffReason()('operations:write')
  const spec = useSpec(off)
  const verbs = useMemo(() => keyVerbs(alerts ?? [], off), [alerts, off])
  const selected = alerts?.filter((alert) => selection.ids.has(alert.notification_id)) ?? []
  return (
    <div className="split">
      <ListView
        spec={spec}
        state={state}
        query={query}
        selection={selection}
        verbs={verbs}
        hrefOf={(id) => `/admin/alerts?open=${id}`}
        onOpen={(id) => state.set({ open: id })}
        head={<Head />}
        firstRun={<Quiet />}
        bulk={
          <BulkBar
            spec={spec}
            selection={selection}
            shownCount={ids.length}
            hasMore={false}
            verbs={[{ id: 'acknowledge', label: 'Acknowledge', offReason: off }]}
            countAll={async () => ids.length}
            onVerb={() => void acknowledge(selected).then(selection.clear)}
          />
        }
      />
      {state.open && (
        <AlertPanel
          key={state.open}
          id={state.open}
          alerts={alerts}
          onMove={(id) => state.set({ open: id }, { replace: true })}
          onClose={() => state.set({ open: undefined })}
        />
      )}
    </div>
  )
}

function useSpec(off: string | undefined): ListSpec<Alert> {
  const navigate = useNavigate()
  return useMemo(
    () => ({
      ...alertsSpec,
      menuOf: (alert: Alert) => {
        const path = subjectPath(alert)
        const [to, text = ''] = path?.split('?') ?? []
        return [
          ...(to === undefined
            ? []
            : [
                {
                  ...{ id: 'open', label: openLabel(alert), icon: 'arrow' as const },
                  onSelect: () => void navigate({ to, search: Object.fromEntries(new URLSearchParams(text)) as never }),
                },
              ]),
          ...(alert.state === 'open'
            ? [
                {
                  ...{ id: 'ack', label: 'Acknowledge', icon: 'check' as const, kbd: 'a' },
                  ...(off !== undefined && { offReason: off }),
                  onSelect: () => void acknowledge([alert]),
                },
              ]
            : []),
        ]
      },
    }),
    [navigate, off],
  )
}

/** Keys on a row: `a` acknowledges, `p` asks to approve the devices that wait. */
function keyVerbs(alerts: readonly Alert[], off: string | undefined): Readonly<Record<string, (id: string) => void>> {
  const withAlert = (act: (alert: Alert) => void) => (id: string) => {
    const alert = alerts.find((each) => each.notification_id === id)
    if (alert) act(alert)
  }
  return {
    a: withAlert((alert) => off === undefined && void acknowledge([alert])),
    p: withAlert(({ kind }) => kind === 'device.awaiting_approval' && void approveWaiting()),
  }
}

function Head() {
  const { data } = useApi('GET /v1/admin/dashboard/overview', {})
  const counts = data?.alerts
  const sub = counts && [
    counts.critical > 0 && `${counts.critical} critical`,
    counts.warning > 0 && `${counts.warning} ${counts.warning === 1 ? 'warning' : 'warnings'}`,
    counts.info > 0 && `${counts.info} for information`,
  ]
  return <PageHead title="Alerts" sub={sub && (sub.filter(Boolean).join(' · ') || 'none open')} />
}
