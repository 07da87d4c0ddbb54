import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { formatBytes, formatWord } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Duration, Timestamp } from '../../ui/timestamp.tsx'
import type { Device } from '../devices/words.ts'

const most = 50
const few = 7
type Session = OutputOf<'GET /v1/admin/sessions'>['items'][number]

/** Newest 50 VPN sessions of the device. */
export function SessionsTab({ device }: { device: Device }) {
  return (
    <QueryView query={useSessions(device, most)} what="the sessions of this device" permission="sessions:read">
      {({ items }) => <SessionTable sessions={items} />}
    </QueryView>
  )
}

function useSessions({ device_id }: Device, limit: number) {
  const enabled = useCan()('sessions:read')
  return useApi('GET /v1/admin/sessions', { query: { device_id, state: 'all', limit } }, { enabled })
}

type TableProps = {
  sessions: readonly Session[]
  /** True for sessions of several devices: the first column names the device. */
  withDevice?: boolean
}

/** VPN sessions of one device, or of the devices of a user. */
export const SessionTable = ({ sessions, withDevice = false }: TableProps) =>
  sessions.length === 0 ? (
    <p className="soft">No VPN session yet. One begins when {withDevice ? 'a' : 'the'} device connects to a gateway.</p>
  ) : (
    <Table
      columns={withDevice ? [deviceColumn, ...columns] : columns}
      rows={sessions}
      keyOf={(session) => session.session_id}
    />
  )

const deviceColumn: TableColumn<Session> = {
  label: 'Device',
  cell: ({ device_id, device_name }) => (
    <AppLink className="rowlink" to={`/admin/devices/${device_id}`}>
      {device_name ?? device_id}
    </AppLink>
  ),
}

const columns: readonly TableColumn<Session>[] = [
  { label: 'Gateway', cell: (session) => session.gateway_name ?? '–' },
  { label: 'Started', cell: (session) => <Timestamp at={session.started_at} className="soft" /> },
  { label: 'Duration', className: 'n p3', cell: (session) => <Duration seconds={lasted(session)} /> },
  { label: 'In', className: 'n', cell: (session) => formatBytes(session.rx_bytes) },
  { label: 'Out', className: 'n p2', cell: (session) => formatBytes(session.tx_bytes) },
  {
    label: 'Why it ended',
    className: 'p3',
    cell: ({ ended_at, end_reason }) =>
      ended_at === null ? (
        <Status kind="ok">running</Status>
      ) : (
        <span className="soft">{formatWord(end_reason ?? '–')}</span>
      ),
  },
]

/** Newest sessions, on the page of the device. */
export function RecentSessions({ device, onAll }: { device: Device; onAll: () => void }) {
  const can = useCan()
  const query = useSessions(device, few)
  if (!can('sessions:read')) return null
  const hasRows = (query.data?.items.length ?? 0) > 0
  return (
    <Frame
      title="Sessions"
      inset={hasRows && !query.error ? 'flush' : undefined}
      aside={
        hasRows && (
          <Button kind="ghost" size="sm" onClick={onAll}>
            All sessions
          </Button>
        )
      }
    >
      <QueryView query={query} what="the sessions of this device">
        {({ items }) => <SessionTable sessions={items} />}
      </QueryView>
    </Frame>
  )
}

const lasted = ({ started_at, ended_at, last_seen_at }: Session) =>
  Math.max(0, Math.round((Date.parse(ended_at ?? last_seen_at) - Date.parse(started_at)) / 1000))
