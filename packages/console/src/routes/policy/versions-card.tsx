import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { formatNumber, shortDigest } from '../../ui/format.ts'
import type { QueryState } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { Card } from '../home/card.tsx'
import { changesOf, gateWords, type Version } from './words.ts'

type Query = QueryState<{ items: readonly Version[] }>

/** Newest versions of both channels. */
export const VersionsCard = ({ query }: { query: Query }) => (
  <Card
    title="Versions"
    what="the versions"
    query={query}
    inset="flush"
    aside={<AppLink to="/admin/policy/history">History</AppLink>}
  >
    {({ items }) => <Table columns={columns} rows={items} keyOf={(version) => version.bundle_id} />}
  </Card>
)

const columns: readonly TableColumn<Version>[] = [
  {
    label: 'Version',
    cell: ({ bundle_id, version, digest }) => (
      <div className="row">
        <AppLink className="rowlink" to={`/admin/policy/history?open=${bundle_id}`}>
          v{version}
        </AppLink>
        <span className="mono soft p3">{shortDigest(digest)}</span>
      </div>
    ),
  },
  { label: 'Channel', cell: (version) => <ChannelOf version={version} /> },
  {
    label: 'Note',
    className: 'p3',
    cell: ({ note }) => <div className="trunc">{note === '' ? <span className="faint">–</span> : note}</div>,
  },
  { label: 'Rules', className: 'p5 soft nowrap', cell: ({ impact }) => changesOf(impact) },
  {
    label: 'Tests',
    className: 'p5 soft nowrap',
    cell: ({ tests: { passed, failed } }) =>
      passed + failed === 0 ? <span className="faint">–</span> : `${passed} of ${passed + failed}`,
  },
  {
    label: 'Grants',
    className: 'n p4 soft nowrap',
    cell: ({ impact }) =>
      impact.status === 'running' ? '…' : `+${formatNumber(impact.grants_gained)} −${formatNumber(impact.grants_lost)}`,
  },
  {
    label: 'By',
    className: 'p5 soft',
    cell: ({ published_by_name }) => published_by_name ?? <span className="faint">–</span>,
  },
  { label: 'Published', className: 'n soft', cell: ({ published_at }) => <Timestamp at={published_at} /> },
]

/** Channel of a version, and its state there. */
export function ChannelOf({ version: { channel, current, gate } }: { version: Version }) {
  return (
    <div className="row tight wrap">
      {channel}
      {current && channel === 'stable' && <Badge kind="ok">in force</Badge>}
      {channel === 'canary' && gate && (current || gate.state === 'failed' || gate.state === 'rolled_back') && (
        <Badge kind={gate.state === 'watching' ? 'info' : gate.state === 'passed' ? 'ok' : 'bad'}>
          gate {gateWords[gate.state].label.toLowerCase()}
        </Badge>
      )}
      {channel === 'canary' && current && !gate && <Badge kind="info">in force</Badge>}
    </div>
  )
}
