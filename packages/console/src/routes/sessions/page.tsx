import { useCallback, useMemo } from 'react'
import { messageOf } from '../../api/api-error.ts'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useNavigation } from '../../navigation.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { formatNumber } from '../../ui/format.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { toast } from '../../ui/toast.tsx'
import { useStable } from '../../ui/use-stable.ts'
import { SessionCharts } from './charts.tsx'
import { countMatching, endableFilter } from './end-sessions.ts'
import { SessionPanel } from './panel.tsx'
import { sessionMenu } from './session-menu.ts'
import { sessionsSpec } from './spec.tsx'
import { useGateways } from './use-gateways.ts'
import type { Session, SessionTarget } from './words.ts'

const filterNames = ['state', 'gateway_id', 'pool_id', 'user_id', 'device_id']
const defaultSort = '-started_at'
const none: readonly Session[] = []

/** B6: VPN sessions of the tenant. */
export function Page() {
  const state = useListState(filterNames, defaultSort)
  const query = useListPage('GET /v1/admin/sessions', state)
  const sessions = query.data?.items ?? none
  const gateways = useGateways()
  const ids = useMemo(() => sessions.map((session) => session.session_id), [sessions])
  const selection = useSelection(ids, state)
  const ask = useStable((target: SessionTarget) =>
    openOverlay({ kind: 'session_end', target, onDone: selection.clear }),
  )
  const off = useOffReason()
  const menuOf = useSessionMenu(state, ask)
  const spec = useMemo(
    () => ({ ...sessionsSpec({ gateways: gateways.byId, shown: sessions }), menuOf }),
    [gateways.byId, sessions, menuOf],
  )
  const ending = useEnding({ filters: state.filters, sessions, ask })
  const active = sessions.filter((s) => selection.ids.has(s.session_id) && s.state === 'active')
  const areOver = !selection.isAll && active.length === 0
  const endOff = off('sessions:terminate') ?? (areOver ? 'The selected sessions have ended.' : undefined)
  return (
    <ListView
      spec={spec}
      state={state}
      query={query}
      selection={selection}
      verbs={ending.keys}
      hrefOf={(id) => `/admin/sessions?open=${id}`}
      head={<Head gateways={gateways} />}
      firstRun={<NoSessions />}
      bulk={
        <BulkBar
          spec={spec}
          selection={selection}
          shownCount={ids.length}
          hasMore={query.data?.next_cursor != null && ending.canEndAll}
          verbs={[{ id: 'end', label: 'End sessions', danger: true, offReason: endOff }]}
          countAll={ending.countAll}
          onVerb={(_, matched) => (matched === undefined ? ask({ sessions: active }) : ending.askForAll())}
        />
      }
      panel={(walk) => (
        <SessionPanel
          {...walk}
          gateways={gateways.byId}
          endOffReason={off('sessions:terminate')}
          menuOf={menuOf}
          onEnd={(session) => ask({ sessions: [session] })}
        />
      )}
    />
  )
}

type Ask = (target: SessionTarget) => void

function useSessionMenu(state: ReturnType<typeof useListState>, ask: Ask) {
  const off = useOffReason()
  const { go } = useNavigation()
  const { set } = state
  return useCallback(
    (session: Session) =>
      sessionMenu(session, {
        off,
        onEnd: (one) => ask({ sessions: [one] }),
        onFilter: (filter) => set({ ...filter, open: undefined }),
        onOpenDevice: ({ device_id }) => go(`/admin/devices/${device_id}`),
      }),
    [off, set, go, ask],
  )
}

type EndingInput = { filters: Readonly<Record<string, string>>; sessions: readonly Session[]; ask: Ask }

/** Asks before ending the sessions of a filter, or the session of the focused row. */
function useEnding({ filters, sessions, ask }: EndingInput) {
  const can = useCan()
  const mayEnd = can('sessions:terminate')
  const filter = useMemo(() => endableFilter(filters), [filters])
  const countAll = useCallback(async () => (await countMatching(filter)).matched, [filter])
  const keys = useMemo(
    () => ({
      e: (id: string) => {
        const session = sessions.find((s) => s.session_id === id)
        if (mayEnd && session?.state === 'active') ask({ sessions: [session] })
      },
    }),
    [sessions, mayEnd, ask],
  )
  return {
    keys,
    countAll,
    /** The server refuses an empty filter. */
    canEndAll: mayEnd && filters.state !== 'ended' && Object.keys(filter).length > 0,
    askForAll: () =>
      void countMatching(filter).then(
        (found) => ask({ filter, ...found }),
        (e: unknown) => toast({ kind: 'bad', title: 'No session was ended', text: messageOf(e) }),
      ),
  }
}

function Head({ gateways }: { gateways: ReturnType<typeof useGateways> }) {
  const can = useCan()
  const mayCount = can('operations:read')
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: mayCount })
  const silent = gateways.query.data?.items.filter((g) => g.status === 'down' && g.active_sessions > 0).length ?? 0
  const active = data ? `${formatNumber(data.sessions.active)} active` : null
  const stale = silent > 0 && `metering stale at ${formatNumber(silent)} ${silent === 1 ? 'gateway' : 'gateways'}`
  return (
    <>
      <PageHead title="Sessions" sub={mayCount ? active && [active, stale].filter(Boolean).join(' · ') : undefined} />
      <SessionCharts gateways={gateways} />
    </>
  )
}

const NoSessions = () => (
  <FirstRun
    title="No session runs"
    sentence="A session begins when a device connects to a gateway, and appears here within a minute."
    action={<ButtonLink to="/admin/sessions?state=ended">Show ended sessions</ButtonLink>}
    command="holdfast session list --state all"
  />
)
