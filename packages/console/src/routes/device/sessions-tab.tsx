import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { formatBytes, formatWord } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { NoPermission, Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { Status } from '../../ui/status.tsx'
import { Duration, Timestamp } from '../../ui/timestamp.tsx'
import type { Device } from '../devices/words.ts'

const most = 50
const few = 7
type Session = OutputOf<'GET /v1/admin/sessions'>['items'][number]

/** The newest 50 VPN sessions of the device. */
export function SessionsTab({ device }: { device: Device }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/sessions',
    { query: { device_id: device.device_id, state: 'all', limit: most } },
    { enabled: can('sessions:read') },
  )
  if (!can('sessions:read')) return <NoPermission what="sessions" permission="sessions:read" />
  if (query.error) return <Problem error={query.error} retry={query.refetch} what="the sessions of this device" />
  if (!query.data) return <SkeletonRows columns={4} />
  if (query.data.items.length === 0) return <NoSession />
  return <SessionTable sessions={query.data.items} />
}

function SessionTable({ sessions }: { sessions: readonly Session[] }) {
  return (
    <div className="tw">
      <table className="t inset">
        <thead>
          <tr>
            <th scope="col">Gateway</th>
            <th scope="col">Started</th>
            <th scope="col" className="n p3">
              Lasted
            </th>
            <th scope="col" className="n">
              In
            </th>
            <th scope="col" className="n p2">
              Out
            </th>
            <th scope="col" className="p3">
              Why it ended
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={session.session_id}>
              <td>{session.gateway_name ?? '–'}</td>
              <td className="soft">
                <Timestamp at={session.started_at} />
              </td>
              <td className="n p3">
                <Duration seconds={lasted(session)} />
              </td>
              <td className="n">{formatBytes(session.rx_bytes)}</td>
              <td className="n p2">{formatBytes(session.tx_bytes)}</td>
              <td className="p3 soft">
                {session.ended_at === null ? <Status kind="ok">running</Status> : formatWord(session.end_reason ?? '–')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The last few sessions, on the page of the device. */
export function RecentSessions({ device, onAll }: { device: Device; onAll: () => void }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/sessions',
    { query: { device_id: device.device_id, state: 'all', limit: few } },
    { enabled: can('sessions:read') },
  )
  if (!can('sessions:read')) return null
  const sessions = query.data?.items
  return (
    <Frame
      title="Sessions"
      inset={sessions && sessions.length > 0 ? 'flush' : undefined}
      aside={
        sessions &&
        sessions.length > 0 && (
          <Button kind="ghost" size="sm" onClick={onAll}>
            All sessions
          </Button>
        )
      }
    >
      {query.error && <Problem error={query.error} retry={query.refetch} what="the sessions of this device" />}
      {!sessions && !query.error && <SkeletonRows columns={4} />}
      {sessions && (sessions.length > 0 ? <SessionTable sessions={sessions} /> : <NoSession />)}
    </Frame>
  )
}

const NoSession = () => <p className="soft">No session yet. One begins when the device connects to a gateway.</p>

const lasted = ({
  started_at,
  ended_at,
  last_seen_at,
}: {
  started_at: string
  ended_at: string | null
  last_seen_at: string
}) => Math.max(0, Math.round((Date.parse(ended_at ?? last_seen_at) - Date.parse(started_at)) / 1000))
