import type { ListSpec } from '../../table/spec.ts'
import { Badge, Tag } from '../../ui/badge.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { DeviceStatus } from './device-status.tsx'
import { type Device, deviceIcon, platformWords, postureWords, presenceWords, statusWords, systemOf } from './words.ts'

const monthSeconds = String(30 * 86_400)
const optionsOf = (words: Readonly<Record<string, string | { label: string }>>) =>
  Object.entries(words).map(([value, word]) => ({ value, label: typeof word === 'string' ? word : word.label }))

/** Columns, filters and words of the list of devices. */
export const devicesSpec: ListSpec<Device> = {
  list: 'devices',
  kind: 'devices',
  noun: { one: 'device', many: 'devices' },
  icon: 'laptop',
  searchHint: 'Name, serial or address',
  defaultSort: '-enrolled_at',
  orderName: 'Newest first',
  command: 'holdfast device list',
  idOf: (device) => device.device_id,
  nameOf: (device) => device.name,
  iconOf: deviceIcon,
  isGone: (device) => device.status === 'revoked',
  summaryOf: (device) => (
    <>
      {device.user_name ?? 'no user'} · <LastSeen device={device} />
    </>
  ),
  asideOf: (device) =>
    device.tags[0] && (
      <span className="p3">
        <Tag>{device.tags[0]}</Tag>
      </span>
    ),
  columns: [
    { id: 'name', label: 'Name', sort: 'name', cell: (device) => device.name },
    {
      id: 'user',
      label: 'User',
      priority: 3,
      cell: (device) => <span className="soft trunc">{device.user_name ?? '–'}</span>,
    },
    { id: 'status', label: 'Status', cell: (device) => <DeviceStatus device={device} /> },
    { id: 'posture', label: 'Posture', priority: 2, cell: (device) => <Posture device={device} /> },
    {
      id: 'system',
      label: 'System',
      priority: 4,
      cell: (device) => <span className="soft">{systemOf(device)}</span>,
    },
    {
      id: 'client',
      label: 'Client',
      priority: 4,
      isNumber: true,
      sort: 'client_version',
      cell: (device) => device.client_version ?? <span className="faint">–</span>,
    },
    { id: 'policy', label: 'Policy', priority: 5, cell: (device) => <Policy device={device} /> },
    {
      id: 'address',
      label: 'Address',
      priority: 5,
      cell: (device) => <span className="mono soft">{device.addresses.ipv4 ?? device.addresses.ipv6 ?? '–'}</span>,
    },
    {
      id: 'gateway',
      label: 'Gateway',
      isOptional: true,
      cell: (device) => <span className="soft">{device.session?.gateway_name ?? '–'}</span>,
    },
    {
      id: 'serial',
      label: 'Serial',
      isOptional: true,
      cell: (device) => <span className="mono soft">{device.serial ?? '–'}</span>,
    },
    {
      id: 'groups',
      label: 'Groups',
      isOptional: true,
      cell: (device) => <span className="soft trunc">{device.group_names.filter(Boolean).join(', ') || '–'}</span>,
    },
    {
      id: 'enrolled',
      label: 'Enrolled',
      isOptional: true,
      isNumber: true,
      sort: 'enrolled_at',
      cell: (device) => <Timestamp at={device.enrolled_at} className="soft" />,
    },
    {
      id: 'seen',
      label: 'Last seen',
      priority: 2,
      isNumber: true,
      sort: 'last_seen_at',
      cell: (device) => (
        <span className="soft">
          <LastSeen device={device} />
        </span>
      ),
    },
  ],
  filters: [
    { name: 'effective_status', label: 'Status', options: optionsOf(statusWords) },
    { name: 'posture', label: 'Posture', options: optionsOf(postureWords) },
    { name: 'platform', label: 'Platform', options: optionsOf(platformWords) },
    { name: 'group_id', label: 'Group', isMore: true, options: [] },
    { name: 'tag', label: 'Tag', isMore: true, options: [] },
    { name: 'presence', label: 'Presence', isMore: true, options: optionsOf(presenceWords) },
    {
      name: 'unseen_for',
      label: 'Unseen',
      phrase: 'Unseen for',
      isMore: true,
      options: [
        { value: String(3_600), label: '1 hour' },
        { value: String(86_400), label: '1 day' },
        { value: String(7 * 86_400), label: '7 days' },
        { value: monthSeconds, label: '30 days' },
        { value: String(90 * 86_400), label: '90 days' },
      ],
    },
    {
      name: 'channel',
      label: 'Channel',
      isMore: true,
      options: optionsOf({ stable: 'Stable', canary: 'Canary' }),
    },
    { name: 'client_version', label: 'Client version', isMore: true, options: [] },
  ],
  linkedFilters: [
    { name: 'user_id', label: 'User', nameOf: (device) => device.user_name },
    { name: 'token_id', label: 'Token', nameOf: (device) => device.enrolled_by.token_name },
    { name: 'gateway_id', label: 'Gateway', nameOf: (device) => device.session?.gateway_name },
  ],
  presets: [
    { label: 'Wait for approval', filters: { effective_status: 'pending' } },
    { label: 'Fail posture', filters: { posture: 'non_compliant' } },
    { label: 'Unseen 30 days', filters: { unseen_for: monthSeconds } },
    { label: 'Canary', filters: { channel: 'canary' } },
  ],
}

/** Posture in soft text; only deviations have a mark. */
function Posture({ device }: { device: Device }) {
  const { kind, label } = postureWords[device.posture.verdict]
  return kind === 'ok' ? <span className="soft">{label}</span> : <Status kind={kind}>{label}</Status>
}

function Policy({ device }: { device: Device }) {
  const { digest, applied_digest } = device.policy
  return (
    <span className="row tight">
      {device.effective_channel === 'canary' && <Badge kind="info">canary</Badge>}
      {digest === null ? (
        <span className="faint">–</span>
      ) : digest === applied_digest ? (
        <span className="soft">in force</span>
      ) : (
        <span className="warn">{applied_digest === null ? 'not confirmed' : 'behind'}</span>
      )}
    </span>
  )
}

function LastSeen({ device }: { device: Device }) {
  if (device.presence === 'online') return 'online'
  return device.last_seen_at === null ? 'never seen' : <Timestamp at={device.last_seen_at} />
}
