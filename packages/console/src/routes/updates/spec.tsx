import type { ListSpec } from '../../table/spec.ts'
import { Badge } from '../../ui/badge.tsx'
import { formatCount, formatNumber, formatWord } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { type Release, statusWords } from './words.ts'

/** Number of devices by version; undefined until it is known. */
export type VersionCounts = ReadonlyMap<string, number> | undefined

/** Columns, filters and words of the list of releases. Only a caller who `mayCount` sees the column of devices. */
export const releasesSpec = (counts: VersionCounts, mayCount: boolean): ListSpec<Release> => ({
  list: 'releases',
  kind: 'updates',
  noun: { one: 'release', many: 'releases' },
  icon: 'download',
  defaultSort: '-created_at',
  orderName: 'Newest first',
  command: 'holdfast release list',
  options: { sort: false },
  idOf: (release) => release.release_id,
  nameOf: (release) => release.version,
  isGone: (release) => release.status === 'withdrawn' || release.status === 'halted',
  summaryOf: (release) => `${formatWord(release.channel)} · ${formatCount(release.packages, 'package')}`,
  columns: [
    { id: 'version', label: 'Version', cell: (release) => release.version },
    {
      id: 'channel',
      label: 'Channel',
      priority: 3,
      cell: (release) =>
        release.channel === 'canary' ? <Badge kind="info">canary</Badge> : <span className="soft">stable</span>,
    },
    { id: 'status', label: 'State', cell: (release) => <ReleaseStatus release={release} /> },
    { id: 'rollout', label: 'Rollout', priority: 2, cell: (release) => <Rollout release={release} /> },
    {
      id: 'packages',
      label: 'Packages',
      priority: 3,
      isNumber: true,
      cell: (release) => formatNumber(release.packages),
    },
    ...(mayCount
      ? [
          {
            id: 'devices',
            label: 'Devices',
            priority: 4 as const,
            isNumber: true,
            cell: (release: Release) => (counts ? formatNumber(counts.get(release.version) ?? 0) : '–'),
          },
        ]
      : []),
    {
      id: 'severity',
      label: 'Severity',
      priority: 5,
      cell: (release) => (
        <span className="soft">
          {formatWord(release.severity)}
          {release.mandatory && ', mandatory'}
        </span>
      ),
    },
    {
      id: 'published',
      label: 'Published',
      priority: 4,
      isNumber: true,
      cell: (release) => <Timestamp at={release.published_at} className="soft" />,
    },
    {
      id: 'created',
      label: 'Created',
      isOptional: true,
      isNumber: true,
      sort: 'created_at',
      cell: (release) => <Timestamp at={release.created_at} className="soft" />,
    },
  ],
  filters: [
    {
      name: 'status',
      label: 'State',
      options: Object.entries(statusWords).map(([value, { label }]) => ({ value, label })),
    },
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
    { label: 'Drafts', filters: { status: 'draft' } },
    { label: 'Published', filters: { status: 'published' } },
    { label: 'Halted', filters: { status: 'halted' } },
  ],
})

export function ReleaseStatus({ release }: { release: Release }) {
  const { kind, label } = statusWords[release.status]
  return kind === 'ok' ? <span className="soft">{label}</span> : <Status kind={kind}>{label}</Status>
}

/** Audience of a release that is offered: a share of the devices, and groups. */
function Rollout({ release: { rollout, status } }: { release: Release }) {
  const groups = rollout.group_ids.length
  const words = [`${formatNumber(rollout.percent)} %`, groups > 0 && `and ${formatCount(groups, 'group')}`]
  const text = words.filter(Boolean).join(' ')
  if (status === 'halted' || status === 'withdrawn') return <span className="faint">–</span>
  if (status === 'draft') return <span className="soft">{text} once it is published</span>
  return (
    <span className="share">
      <Bullet share={rollout.percent / 100} label={`Offered to ${text} of the devices`} />
      <span className="num">{text}</span>
    </span>
  )
}
