import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { CopyId } from '../../ui/copy.tsx'
import { formatWord } from '../../ui/format.ts'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import type { Device } from '../devices/words.ts'

const most = 50
type Certificate = OutputOf<'GET /v1/admin/spc'>['items'][number]
const marks = { active: 'ok', superseded: 'half', revoked: 'off', expired: 'off' } as const

/** Newest 50 certificates (SPC) of the device. */
export function CertificatesTab({ device }: { device: Device }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/spc',
    { query: { device_id: device.device_id, sort: '-issued_at', limit: most } },
    { enabled: can('spc:read') },
  )
  return (
    <QueryView query={query} what="the certificates of this device" permission="spc:read">
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft">No certificate. A device requests one when its gateway requires it.</p>
        ) : (
          <Table
            columns={columns}
            rows={items}
            keyOf={(spc) => spc.spc_id}
            rowClass={(spc) => (spc.status === 'revoked' ? 'gone' : undefined)}
          />
        )
      }
    </QueryView>
  )
}

const columns: readonly TableColumn<Certificate>[] = [
  { label: 'Serial', cell: ({ serial }) => <CopyId id={serial} short={serial.slice(-8)} /> },
  { label: 'Status', cell: ({ status }) => <Status kind={marks[status]}>{formatWord(status)}</Status> },
  { label: 'Issued', className: 'p3', cell: ({ issued_at }) => <Timestamp at={issued_at} className="soft" /> },
  { label: 'Expires', cell: ({ not_after }) => <Timestamp at={not_after} className="soft" /> },
]
