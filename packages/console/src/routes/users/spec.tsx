import type { ListSpec } from '../../table/spec.ts'
import { Badge, Tag } from '../../ui/badge.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { Avatar } from './avatar.tsx'
import { UserStatus } from './user-status.tsx'
import { nameOf, options, roleNames, roleWords, sourceWords, type User, userIcon } from './words.ts'

const shownGroups = 2

/** Columns, filters and words of the list of users. */
export const usersSpec: ListSpec<User> = {
  list: 'users',
  kind: 'users',
  noun: { one: 'user', many: 'users' },
  icon: 'user',
  searchHint: 'Name, username or e-mail',
  defaultSort: 'username',
  orderName: 'By username',
  command: 'holdfast user list',
  idOf: (user) => user.user_id,
  nameOf,
  iconOf: userIcon,
  pictureOf: (user) => <Avatar user={user} />,
  lineOf: (user) => (nameOf(user) === user.username ? user.email : user.username),
  asideOf: (user) => user.break_glass && <Badge kind="warn">break glass</Badge>,
  columns: [
    { id: 'name', label: 'Name', sort: 'username', cell: nameOf },
    { id: 'status', label: 'Status', cell: (user) => <UserStatus user={user} /> },
    { id: 'roles', label: 'Admin role', priority: 3, cell: (user) => <Roles user={user} /> },
    { id: 'groups', label: 'Groups', priority: 4, cell: (user) => <Groups user={user} /> },
    { id: 'mfa', label: 'Second factor', priority: 2, cell: (user) => <Factor user={user} /> },
    { id: 'devices', label: 'Devices', priority: 4, isNumber: true, cell: (user) => <Devices user={user} /> },
    { id: 'source', label: 'From', priority: 4, cell: (user) => <Source user={user} /> },
    {
      id: 'email',
      label: 'E-mail',
      isOptional: true,
      cell: (user) => <span className="soft trunc">{user.email ?? '–'}</span>,
    },
    {
      id: 'created',
      label: 'Created',
      isOptional: true,
      isNumber: true,
      sort: 'created_at',
      cell: (user) => <Timestamp at={user.created_at} className="soft" />,
    },
    {
      id: 'login',
      label: 'Last sign-in',
      priority: 2,
      isNumber: true,
      sort: 'last_login_at',
      cell: (user) => <Timestamp at={user.last_login_at} className="soft" empty="never" />,
    },
  ],
  filters: [
    { name: 'status', label: 'Status', options: options.status },
    { name: 'role', label: 'Role', options: roleNames.map((value) => ({ value, label: roleWords(value) })) },
    { name: 'group_id', label: 'Group', options: [] },
    { name: 'mfa', label: 'Second factor', options: options.mfa },
    { name: 'source', label: 'From', options: options.source },
    { name: 'locked', label: 'Sign-in', isMore: true, options: options.locked },
    { name: 'kind', label: 'Kind', isMore: true, options: options.kind },
    { name: 'has_devices', label: 'Devices', phrase: 'Only', isMore: true, options: options.devices },
  ],
  presets: [
    { label: 'Tenant admins', filters: { role: 'tenant_admin' } },
    { label: 'Without second factor', filters: { kind: 'person', mfa: 'false' } },
    { label: 'Locked', filters: { locked: 'true' } },
    { label: 'Suspended', filters: { status: 'suspended' } },
    { label: 'Service accounts', filters: { kind: 'service' } },
  ],
}

const Roles = ({ user: { roles } }: { user: User }) =>
  roles.length === 0 ? (
    <span className="faint">–</span>
  ) : (
    <span className="tags">
      {roles.map((role) => (
        <Badge key={role}>{roleWords(role)}</Badge>
      ))}
    </span>
  )

function Groups({ user: { group_ids, group_names } }: { user: User }) {
  if (group_ids.length === 0) return <span className="faint">–</span>
  const more = group_ids.length - shownGroups
  return (
    <span className="tags">
      {group_ids.slice(0, shownGroups).map((id, i) => (
        <Tag key={id}>{group_names[i] ?? 'unknown'}</Tag>
      ))}
      {more > 0 && <span className="soft xs">+{more}</span>}
    </span>
  )
}

/** A second factor in soft text; only its absence has a mark. A service account needs none. */
function Factor({ user: { mfa, kind } }: { user: User }) {
  if (kind === 'service') return <span className="faint">–</span>
  return mfa.enabled ? <span className="soft">On</span> : <Status kind="warn">Off</Status>
}

const Devices = ({ user: { device_count } }: { user: User }) => (
  <span className={device_count === 0 ? 'faint' : undefined}>{device_count >= 1000 ? '1,000+' : device_count}</span>
)

const Source = ({ user: { source } }: { user: User }) => (
  <span className="row tight soft">
    {sourceWords[source]}
    {source === 'directory' && <Icon name="lock" size="s" />}
  </span>
)
