import { useMemo } from 'react'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation } from '../../navigation.ts'
import { acknowledge } from '../../shell/acknowledge.ts'
import type { Alert } from '../../shell/open-alerts.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import type { ListSpec } from '../../table/spec.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { approveWaiting } from './approve-waiting.ts'
import { AlertPanel } from './panel.tsx'
import { Quiet } from './quiet.tsx'
import { alertsSpec } from './spec.tsx'
import { openLabel, subjectPath } from './words.ts'

const filterNames = alertsSpec.filters.map((filter) => filter.name)

/** B2: alerts of the tenant. */
export function Page() {
  const state = useListState(filterNames, alertsSpec.defaultSort)
  const query = useListPage('GET /v1/admin/notifications', state)
  const alerts = query.data?.items
  const ids = useMemo(() => alerts?.map((alert) => alert.notification_id) ?? [], [alerts])
  const selection = useSelection(ids, state)
  const off = useOffReason()
  const ackOff = off('operations:write')
  const spec = useSpec(ackOff)
  const verbs = useMemo(() => keyVerbs(alerts ?? [], off), [alerts, off])
  const selected = alerts?.filter((alert) => selection.ids.has(alert.notification_id)) ?? []
  return (
    <ListView
      spec={spec}
      state={state}
      query={query}
      selection={selection}
      verbs={verbs}
      hrefOf={(id) => `/admin/alerts?open=${id}`}
      head={<Head />}
      firstRun={<Quiet />}
      bulk={
        <BulkBar
          spec={spec}
          selection={selection}
          shownCount={ids.length}
          hasMore={false}
          verbs={[{ id: 'acknowledge', label: 'Acknowledge', offReason: ackOff }]}
          countAll={async () => ids.length}
          onVerb={() => void acknowledge(selected).then(selection.clear)}
        />
      }
      panel={(walk) => <AlertPanel {...walk} alerts={alerts} />}
    />
  )
}

function useSpec(off: string | undefined): ListSpec<Alert> {
  const { go } = useNavigation()
  return useMemo(
    () => ({
      ...alertsSpec,
      menuOf: (alert: Alert) => {
        const path = subjectPath(alert)
        return [
          ...(path === undefined
            ? []
            : [
                {
                  id: 'open',
                  label: openLabel(alert),
                  icon: 'arrow' as const,
                  onSelect: () => go(path),
                },
              ]),
          ...(alert.state === 'open'
            ? [
                {
                  id: 'ack',
                  label: 'Acknowledge',
                  icon: 'check' as const,
                  kbd: 'a',
                  ...(off !== undefined && { offReason: off }),
                  onSelect: () => void acknowledge([alert]),
                },
              ]
            : []),
        ]
      },
    }),
    [go, off],
  )
}

/** Keys on a row: `a` acknowledges, `p` opens the approval of the pending devices. */
type OffReason = ReturnType<typeof useOffReason>
function keyVerbs(alerts: readonly Alert[], off: OffReason): Readonly<Record<string, (id: string) => void>> {
  const withAlert = (act: (alert: Alert) => void) => (id: string) => {
    const alert = alerts.find((each) => each.notification_id === id)
    if (alert) act(alert)
  }
  return {
    a: withAlert((alert) => off('operations:write') === undefined && void acknowledge([alert])),
    p: withAlert(
      ({ kind }) => kind === 'device.awaiting_approval' && off('devices:write') === undefined && void approveWaiting(),
    ),
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
  return <PageHead title="Alerts" sub={sub ? sub.filter(Boolean).join(' · ') || 'none open' : null} />
}
