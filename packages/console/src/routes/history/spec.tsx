import type { ListSpec } from '../../table/spec.ts'
import { formatNumber, shortDigest } from '../../ui/format.ts'
import { Timestamp } from '../../ui/timestamp.tsx'
import { ChannelOf } from '../policy/versions-card.tsx'
import { changesOf, type Version } from '../policy/words.ts'

/** Columns, filters and words of the list of versions. */
export const versionsSpec: ListSpec<Version> = {
  kind: 'policy',
  noun: { one: 'version', many: 'versions' },
  icon: 'policy',
  defaultSort: '-version',
  orderName: 'Newest first',
  command: 'holdfast policy list',
  options: { sort: false },
  idOf: ({ bundle_id }) => bundle_id,
  nameOf: ({ version }) => `v${version}`,
  summaryOf: ({ note, channel }) => note || channel,
  columns: [
    { id: 'version', label: 'Version', sort: 'version', cell: ({ version }) => `v${version}` },
    { id: 'channel', label: 'Channel', cell: (version) => <ChannelOf version={version} /> },
    {
      id: 'note',
      label: 'Note',
      priority: 2,
      cell: ({ note }) => <span className="trunc">{note || <span className="faint">–</span>}</span>,
    },
    {
      id: 'rules',
      label: 'Rules',
      priority: 4,
      cell: ({ impact }) => <span className="soft">{changesOf(impact)}</span>,
    },
    {
      id: 'tests',
      label: 'Tests',
      priority: 5,
      isNumber: true,
      cell: ({ tests: { passed, failed } }) =>
        passed + failed === 0 ? <span className="faint">–</span> : `${passed} of ${passed + failed}`,
    },
    {
      id: 'grants',
      label: 'Grants',
      priority: 5,
      isNumber: true,
      cell: ({ impact: { status, grants_gained, grants_lost } }) => (
        <span className="soft">
          {status === 'running' ? '…' : `+${formatNumber(grants_gained)} −${formatNumber(grants_lost)}`}
        </span>
      ),
    },
    {
      id: 'by',
      label: 'Published by',
      priority: 3,
      cell: ({ published_by_name }) => published_by_name ?? <span className="faint">–</span>,
    },
    {
      id: 'digest',
      label: 'Digest',
      isOptional: true,
      cell: ({ digest }) => <span className="mono soft">{shortDigest(digest)}</span>,
    },
    {
      id: 'published',
      label: 'Published',
      isNumber: true,
      cell: ({ published_at }) => <Timestamp at={published_at} className="soft" />,
    },
  ],
  filters: [
    {
      name: 'channel',
      label: 'Channel',
      options: [
        { value: 'stable', label: 'Stable' },
        { value: 'canary', label: 'Canary' },
      ],
    },
  ],
  presets: [
    { label: 'Stable', filters: { channel: 'stable' } },
    { label: 'Canary', filters: { channel: 'canary' } },
  ],
}
