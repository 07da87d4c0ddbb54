import { useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import { useListState } from '../../table/list-state.ts'
import { ListView, pageSize } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { formatNumber } from '../../ui/format.ts'
import { lazily } from '../../ui/lazy.ts'
import { PageHead } from '../../ui/page-head.tsx'
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
const confirm = lazily(() => import('./confirm-end.tsx').then((module) => module.ConfirmEnd))

/** B6: the VPN sessions, with one of them in a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, defaultSort)
  const page = { sort: state.sort, limit: pageSize, cursor: state.cursor }
  const query = useApi(
    'GET /v1/admin/sessions',
    { query: { ...state.filters, ...page } as object },
    { keepsLast: true },
  )
  const sessions = query.data?.items ?? none
  const gateways = useGateways()
  const ids = useMemo(() => sessions.map((session) => session.session_id), [sessions])
  const selection = useSelection(ids)
  const [asked, setAsked] = useState<SessionTarget>()
  const off = useOffReason()
  const menuOf = useSessionMenu(state, setAsked)
  const spec = useMemo(
    () => ({ ...sessionsSpec({ gateways: gateways.byId, shown: sessions }), menuOf }),
    [gateways.byId, sessions, menuOf],
  )
  const ending = useEnding({ filters: state.filters, sessions, setAsked })
  const active = () => sessions.filter((s) => selection.ids.has(s.session_id) && s.state === 'active')
  return (
    <div className="split">
      <ListView
        spec={spec}
        state={state}
        query={query}
        selection={selection}
        verbs={ending.keys}
        hrefOf={(id) => `/admin/sessions?open=${id}`}
        onOpen={(id) => state.set({ open: id })}
        head={<Head gateways={gateways} isNarrow={state.open !== undefined} />}
        firstRun={<NoSessions />}
        bulk={
          <BulkBar
            spec={spec}
            selection={selection}
            shownCount={ids.length}
            hasMore={query.data?.next_cursor != null && ending.canEndAll}
            verbs={[{ id: 'end', label: 'End sessions', danger: true, offReason: off('sessions:terminate') }]}
            countAll={ending.countAll}
            onVerb={(_, matched) => (matched === undefined ? setAsked({ sessions: active() }) : ending.askForAll())}
          />
        }
      />
      {state.open && (
        <SessionPanel
          key={state.open}
          sessionId={state.open}
          ids={ids}
          gateways={gateways.byId}
          endOffReason={off('sessions:terminate')}
          menuOf={menuOf}
          onEnd={(session) => setAsked({ sessions: [session] })}
          onMove={(id) => state.set({ open: id }, { replace: true })}
          onClose={() => state.set({ open: undefined })}
        />
      )}
      {asked && <confirm.Component target={asked} onDone={selection.clear} onClose={() => setAsked(undefined)} />}
    </div>
  )
}

type Ask = (target: SessionTarget) => void

function useSessionMenu(state: ReturnType<typeof useListState>, ask: Ask) {
  const off = useOffReason()
  const navigate = useNavigate()
  const { set } = state
  const rights = [off('devices:read'), off('sessions:terminate')].join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: `off` is a new function each time, its answers are not
  return useCallback(
    (session: Session) =>
      sessionMenu(session, {
        off,
        onEnd: (one) => ask({ sessions: [one] }),
        onFilter: (filter) => set({ ...filter, open: undefined }),
        onOpenDevice: ({ device_id }) => void navigate({ to: `/admin/devices/${device_id}` }),
      }),
    [rights, set, navigate, ask],
  )
}

type EndingInput = { filters: Readonly<Record<string, string>>; sessions: readonly Session[]; setAsked: Ask }

/** Ends what a filter names, or by its key the session whose row has the focus. The question comes first. */
function useEnding({ filters, sessions, setAsked }: EndingInput) {
  const can = useCan()
  const mayEnd = can('sessions:terminate')
  const filter = useMemo(() => endableFilter(filters), [filters])
  const countAll = useCallback(async () => (await countMatching(filter)).matched, [filter])
  const keys = useMemo(
    () => ({
      e: (id: string) => {
        const session = sessions.find((s) => s.session_id === id)
        if (mayEnd && session?.state === 'active') setAsked({ sessions: [session] })
      },
    }),
    [sessions, mayEnd, setAsked],
  )
  return {
    keys,
    countAll,
    /** The server ends by filter only where it names something. */
    canEndAll: mayEnd && filters.state !== 'ended' && Object.keys(filter).length > 0,
    askForAll: () => void countMatching(filter).then((found) => setAsked({ filter, ...found })),
  }
}

type HeadProps = { gateways: ReturnType<typeof useGateways>; isNarrow: boolean }

function Head({ gateways, isNarrow }: HeadProps) {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: can('operations:read') })
  const silent = gateways.query.data?.items.filter((g) => g.status === 'down' && g.active_sessions > 0).length ?? 0
  const active = data && `${formatNumber(data.sessions.active)} active`
  const stale = silent > 0 && `metering stale at ${formatNumber(silent)} ${silent === 1 ? 'gateway' : 'gateways'}`
  return (
    <>
      <PageHead title="Sessions" sub={active && [active, stale].filter(Boolean).join(' · ')} />
      {!isNarrow && <SessionCharts gateways={gateways} />}
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
