import { useState } from 'react'
import { messageOf } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Part } from '../../ui/part.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { SessionTable } from '../device/sessions-tab.tsx'
import { browserName, methodWords } from '../me/browser-name.ts'
import type { User } from '../users/words.ts'
import { refreshUsers } from './change-users.ts'
import type { TabProps } from './tab.ts'
import { askFor } from './user-actions.tsx'
import { useUserOff } from './user-off.ts'

type AdminSession = OutputOf<'GET /v1/admin/auth/sessions'>['items'][number]
const most = 50

/** VPN sessions of the devices of the user, and sessions of the user in the console and the API. */
export function SessionsTab({ user, inPanel }: TabProps) {
  const off = useUserOff()
  const vpn = useVpnSessions(user.user_id)
  const hasRows = (vpn.data?.items.length ?? 0) > 0
  return (
    <>
      <div className="row wrap">
        <Button
          kind="danger"
          size="sm"
          offReason={off('end_sessions', user)}
          onClick={() => askFor('end_sessions', user)}
        >
          End all sessions…
        </Button>
      </div>
      <Part
        title="VPN sessions"
        inPanel={inPanel}
        inset={hasRows && !vpn.error ? 'flush' : undefined}
        aside={
          <AppLink className="xs" to={`/admin/sessions?user_id=${user.user_id}&state=all`}>
            Open list
          </AppLink>
        }
      >
        <QueryView query={vpn} what="the VPN sessions of this user" permission="sessions:read">
          {({ items }) => <SessionTable sessions={items} withDevice />}
        </QueryView>
      </Part>
      <AdminSessions user={user} inPanel={inPanel} />
    </>
  )
}

function useVpnSessions(user_id: string) {
  const enabled = useCan()('sessions:read')
  return useApi('GET /v1/admin/sessions', { query: { user_id, state: 'all', limit: most } }, { enabled })
}

function AdminSessions({ user, inPanel }: TabProps) {
  const enabled = useCan()('credentials:read')
  const query = useApi('GET /v1/admin/auth/sessions', { query: { user_id: user.user_id, limit: most } }, { enabled })
  const [ending, setEnding] = useState<string>()
  const offReason = useOffReason()('credentials:write')
  const hasRows = enabled && (query.data?.items.length ?? 0) > 0
  const end = async (session: AdminSession) => {
    setEnding(session.session_id)
    await endOne(session)
    setEnding(undefined)
  }
  return (
    <Part title="Sign-ins" inPanel={inPanel} inset={hasRows && !query.error ? 'flush' : undefined}>
      <QueryView query={query} what="the sign-ins of this user" permission="credentials:read">
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{emptyOf(user)}</p>
          ) : (
            <Table
              columns={[...columns, endColumn({ ending, offReason, onEnd: end })]}
              rows={items}
              keyOf={(session) => session.session_id}
            />
          )
        }
      </QueryView>
    </Part>
  )
}

const emptyOf = ({ kind }: User): string =>
  kind === 'service' ? 'A service account has no sign-ins. It uses API keys.' : 'The user is not signed in now.'

async function endOne(session: AdminSession): Promise<void> {
  const browser = browserName(session.user_agent)
  try {
    await call('POST /v1/admin/auth/sessions/{session_id}/end', {
      params: { session_id: session.session_id },
      body: {},
    })
    toast({ title: `Session of ${session.username} in ${browser} ended` })
  } catch (e) {
    toast({ kind: 'bad', title: `The session in ${browser} was not ended`, text: messageOf(e) })
  }
  await refreshUsers()
}

const columns: readonly TableColumn<AdminSession>[] = [
  {
    label: 'Browser',
    cell: (session) => (
      <span className="row">
        <span title={session.user_agent ?? undefined}>{browserName(session.user_agent)}</span>
        {session.current && <Badge>this one</Badge>}
      </span>
    ),
  },
  { label: 'From', className: 'p2', cell: (s) => <span className="mono soft">{s.source_ip ?? '–'}</span> },
  { label: 'Signed in by', className: 'p3', cell: (s) => <span className="soft">{methodWords(s.auth_method)}</span> },
  { label: 'Since', className: 'p3', cell: (s) => <Timestamp at={s.started_at} className="soft" /> },
  { label: 'Last seen', className: 'n', cell: (s) => <Timestamp at={s.last_seen_at} className="soft" /> },
]

type EndInput = {
  ending: string | undefined
  offReason: string | undefined
  onEnd: (session: AdminSession) => Promise<void>
}

const endColumn = ({ ending, offReason, onEnd }: EndInput): TableColumn<AdminSession> => ({
  label: 'Actions',
  className: 'x',
  cell: (session) =>
    !session.current && (
      <div className="acts">
        <Button
          size="sm"
          kind="ghost"
          busyLabel="Ending…"
          isBusy={ending === session.session_id}
          offReason={offReason}
          onClick={() => onEnd(session)}
        >
          End <span className="vh">session of {browserName(session.user_agent)}</span>
        </Button>
      </div>
    ),
})
