import type { Role } from '@holdfast/contract/vocabulary'
import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { ComboBox } from '../../ui/combo-box.tsx'
import { Frame } from '../../ui/frame.tsx'
import { Note } from '../../ui/note.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { searchUsers } from '../enrollment/pickers.tsx'
import { RolesTab } from '../user/roles-tab.tsx'
import { nameOf, roleWords, type User } from '../users/words.ts'
import { type AreaRow, areaRows, areaWords, type RoleRights } from './matrix.ts'

/** Roles of a chosen person, and the permissions that they give. */
export function PersonTab({ roles }: { roles: readonly RoleRights[] }) {
  const { change } = useNavigation()
  const { user_id } = useSearch()
  const query = useApi(
    'GET /v1/admin/users/{user_id}',
    { params: { user_id: user_id ?? '' } },
    { enabled: user_id !== undefined },
  )
  const user = query.error?.code === 'not_found' ? undefined : query.data
  return (
    <>
      <div className="who">
        <ComboBox
          label="User"
          placeholder="Name, username or e-mail"
          value={user && { id: user.user_id, label: user.username }}
          onChange={(next) => change({ user_id: next?.id }, { replace: true })}
          search={searchUsers}
        />
      </div>
      {user_id !== undefined && (
        <QueryView query={{ ...query, data: user }} what="this user">
          {(shown) => <Rights key={shown.user_id} user={shown} roles={roles} />}
        </QueryView>
      )}
    </>
  )
}

function Rights({ user, roles }: { user: User; roles: readonly RoleRights[] }) {
  const held = roles.filter(({ role }) => user.roles.includes(role))
  const rows = areaRows(held)
  return (
    <>
      {user.status === 'suspended' && (
        <Note icon="pause" kind="warn" title={`${nameOf(user)} is suspended.`}>
          No role has an effect until somebody reactivates the user.
        </Note>
      )}
      <RolesTab user={user} inPanel={false} />
      <Frame
        title={`What ${nameOf(user)} can do`}
        inset={rows.length === 0 ? undefined : 'flush'}
        aside={
          <AppLink className="xs" to={`/admin/users/${user.user_id}`}>
            Open user
          </AppLink>
        }
      >
        {rows.length === 0 ? (
          <p className="soft">Nothing in this console: the user has no admin role.</p>
        ) : (
          <Table columns={columnsOf(held)} rows={rows} keyOf={({ area }) => area} />
        )}
      </Frame>
    </>
  )
}

const columnsOf = (held: readonly RoleRights[]): readonly TableColumn<AreaRow>[] => [
  { label: 'Area', isHead: true, cell: ({ area }) => areaWords(area) },
  { label: 'Can', cell: ({ verbs }) => verbs.join(', ') },
  {
    label: 'By role',
    className: 'p2',
    cell: ({ byRole }) => <span className="soft">{rolesText(byRole, held)}</span>,
  },
]

const rolesText = (byRole: AreaRow['byRole'], held: readonly RoleRights[]): string =>
  held
    .map(({ role }) => role)
    .filter((role: Role) => (byRole.get(role)?.length ?? 0) > 0)
    .map(roleWords)
    .join(', ')
