import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import type { Document } from '../../policy/difference.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { Card } from '../home/card.tsx'

const route = 'POST /v1/admin/policy/replay'
type Blocked = OutputOf<typeof route>['blocked'][number]
const days = 7
const shown = 10

/** Replays the sessions of the last days with a document. */
export const useReplay = (document: Document | undefined) =>
  useApi(route, { body: { policy: document ?? {}, days } }, { enabled: document !== undefined })

/** Sessions of the last days that the draft would have blocked. */
export function BlockedSessions({ document }: { document: Document }) {
  const query = useReplay(document)
  const { sessions_blocked = 0, sessions_examined = 0, complete = true } = query.data ?? {}
  return (
    <Card
      title={`Sessions of the last ${days} days that it would have blocked`}
      what="the replay of sessions"
      query={query}
      inset={sessions_blocked > 0 ? 'flush' : undefined}
      aside={
        query.data && (
          <span className="soft xs">
            {formatNumber(sessions_blocked)} of {complete ? '' : 'the newest '}
            {formatNumber(sessions_examined)} examined
          </span>
        )
      }
      footer={sessions_blocked > 0 && <span>Devices are evaluated as they are now, at the time of the session.</span>}
    >
      {({ blocked, resources, users_blocked }) =>
        blocked.length === 0 ? (
          <p className="soft">None.</p>
        ) : (
          <>
            <Table columns={columns} rows={blocked.slice(0, shown)} keyOf={({ session_id }) => session_id} />
            <p className="soft xs in">
              {formatCount(users_blocked, 'user')}.{' '}
              {resources
                .slice(0, 5)
                .map(({ resource, sessions }) => `${resource}: ${formatCount(sessions, 'session')}`)
                .join(', ')}
              {sessions_blocked > shown && `. ${formatCount(sessions_blocked - shown, 'more session')} not shown.`}
            </p>
          </>
        )
      }
    </Card>
  )
}

const columns: readonly TableColumn<Blocked>[] = [
  {
    label: 'Session',
    cell: ({ session_id, device_id }) => (
      <AppLink className="rowlink" to={`/admin/devices/${device_id}?tab=sessions`} title={session_id}>
        of device …{device_id.slice(-6)}
      </AppLink>
    ),
  },
  { label: 'Resource', cell: ({ resource }) => resource },
  { label: 'Why', className: 'p3 soft', cell: ({ reason }) => reason },
  { label: 'Began', className: 'n soft', cell: ({ started_at }) => <Timestamp at={started_at} /> },
]
