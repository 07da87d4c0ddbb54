import { AppLink } from '../../ui/app-link.tsx'
import { Icon } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Status } from '../../ui/status.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { deviceIcon, systemOf } from '../devices/words.ts'
import { Card } from '../home/card.tsx'
import { assertionMenu } from './save-assertion.ts'
import { failingOf, type Offenders } from './use-offenders.ts'
import { devicesLink } from './verdicts.ts'

/** Most recently seen failing devices, with their failing checks. */
export function OffendersCard({ offenders: { query, rows } }: { offenders: Offenders }) {
  return (
    <Card
      title="Failing devices"
      what="the failing devices"
      query={query}
      className="c8"
      inset="none"
      aside={<AppLink to={devicesLink({ posture: 'non_compliant' })}>All that fail</AppLink>}
    >
      {() =>
        rows.length === 0 ? (
          <p className="soft in">No active device fails an enforced check.</p>
        ) : (
          <Table look="card" columns={columns} rows={rows} keyOf={(row) => row.device.device_id} />
        )
      }
    </Card>
  )
}

type Row = Offenders['rows'][number]

const columns: readonly TableColumn<Row>[] = [
  { label: 'Device', cell: ({ device }) => <Name device={device} /> },
  { label: 'Fails', cell: ({ posture }) => <Failures posture={posture} /> },
  { label: 'System', className: 'p3', cell: ({ device }) => <span className="soft">{systemOf(device)}</span> },
  {
    label: 'Reported',
    className: 'n p2',
    cell: ({ device }) => <Timestamp at={device.posture.reported_at} empty="never" className="soft" />,
  },
  {
    label: 'Actions',
    className: 'x',
    cell: ({ device }) => (
      <div className="acts">
        <MenuButton label={`Actions for ${device.name}`} items={assertionMenu(device)} />
      </div>
    ),
  },
]

const Name = ({ device }: Pick<Row, 'device'>) => (
  <div className="row">
    <Icon name={deviceIcon(device)} className="faint" />
    <div className="first">
      <AppLink to={`/admin/devices/${device.device_id}`} className="trunc">
        {device.name}
      </AppLink>
      <small className="soft trunc">{device.user_name ?? 'no user'}</small>
    </div>
  </div>
)

function Failures({ posture }: Pick<Row, 'posture'>) {
  const failing = failingOf(posture)
  if (posture === undefined) return <Skeleton width="w60" />
  if (failing.length === 0) return <span className="soft">no check any more</span>
  return (
    <span className="row wrap">
      {failing.map((check) => (
        <Status key={check.check_id} kind={check.enforcement === 'enforce' ? 'bad' : 'warn'}>
          {check.check_id}
        </Status>
      ))}
    </span>
  )
}
