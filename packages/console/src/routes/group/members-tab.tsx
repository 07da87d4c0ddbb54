import { useEffect, useRef } from 'react'
import { messageOf } from '../../api/api-error.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { exportCsv } from '../../table/export-csv.ts'
import { SearchField } from '../../table/filter-bar.tsx'
import { useLocalList } from '../../table/local-list.ts'
import { Pager } from '../../table/pager.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Part } from '../../ui/part.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { SearchOn } from '../../ui/search-on.tsx'
import { SkeletonTable } from '../../ui/skeleton.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { Avatar } from '../users/avatar.tsx'
import { usersSpec } from '../users/spec.tsx'
import { UserStatus } from '../users/user-status.tsx'
import { nameOf, type User } from '../users/words.ts'
import { changeGroup } from './change-groups.ts'
import { useGroupOff } from './group-off.ts'
import type { TabProps } from './tab.ts'

const perPage = 50

/** Members of the group, page by page, since a group may have many. */
export function MembersTab({ group, inPanel }: TabProps) {
  const mayRead = useCan()('users:read')
  if (!mayRead)
    return (
      <Part title="Members" inPanel={inPanel}>
        <NoPermission what="the members of this group" permission="users:read" />
      </Part>
    )
  return <Members {...{ group, inPanel }} />
}

function Members({ group, inPanel }: TabProps) {
  const { group_id } = group
  const state = useLocalList(group_id)
  const { q, cursor, before } = state
  const filters = { group_id }
  const query = useApi(
    'GET /v1/admin/users',
    { query: { ...filters, limit: perPage, sort: 'username', ...(q && { q }), ...(cursor && { cursor }) } },
    { keepsLast: true },
  )
  useRefetchOnChange(group.updated_at, query.refetch)
  const save = () =>
    exportCsv(usersSpec, { q, filters, sort: 'username' }).catch((e: unknown) =>
      toast({ kind: 'bad', title: 'No file was saved', text: messageOf(e) }),
    )
  const columns = useColumns(group)
  return (
    <Part
      title="Members"
      inPanel={inPanel}
      aside={
        <AppLink className="xs" to={`/admin/users?group_id=${group_id}`}>
          Open list
        </AppLink>
      }
    >
      <div className="filters">
        <SearchField
          key={group_id}
          hint="Name, username or e-mail"
          label="Filter members"
          state={state}
          hasKey={!inPanel}
        />
        <div className="end">
          <Button size="sm" kind="ghost" icon="download" busyLabel="Saving…" onClick={save}>
            Download as CSV
          </Button>
        </div>
      </div>
      <QueryView query={query} what="the members of this group" waiting={<SkeletonTable heads={labels} />}>
        {({ items, next_cursor }) =>
          items.length === 0 && next_cursor !== null ? (
            <SearchOn many="members" onNext={() => state.toNext(next_cursor)} />
          ) : items.length === 0 && cursor === undefined ? (
            <p className="soft">{q ? `No member matches “${q}”.` : 'The group has no member.'}</p>
          ) : (
            <>
              <Table columns={columns} rows={items} keyOf={({ user_id }) => user_id} />
              <div className="row between">
                <span className="soft xs">{rowsText(before.length, items.length)}</span>
                <Pager state={state} nextCursor={next_cursor} />
              </div>
            </>
          )
        }
      </QueryView>
    </Part>
  )
}

const labels = ['Member', 'Status', 'Last sign-in', 'Actions']

function useColumns(group: TabProps['group']): readonly TableColumn<User>[] {
  const offReason = useGroupOff()(group)
  return [
    { label: 'Member', cell: (user) => <MemberName user={user} /> },
    { label: 'Status', className: 'p2', cell: (user) => <UserStatus user={user} /> },
    {
      label: 'Last sign-in',
      className: 'p3 n',
      cell: ({ last_login_at }) => <Timestamp at={last_login_at} className="soft" empty="never" />,
    },
    {
      label: 'Actions',
      className: 'x',
      cell: (user) => (
        <div className="acts">
          <Button
            size="sm"
            kind="ghost"
            busyLabel="Removing…"
            offReason={offReason}
            onClick={() => removeMember(group, user)}
          >
            Remove <span className="vh">{nameOf(user)}</span>
          </Button>
        </div>
      ),
    },
  ]
}

const MemberName = ({ user }: { user: User }) => (
  <div className="row">
    <Avatar user={user} />
    <div className="first">
      <AppLink className="trunc" to={`/admin/users/${user.user_id}`}>
        {nameOf(user)}
      </AppLink>
      {nameOf(user) !== user.username && <small className="trunc">{user.username}</small>}
    </div>
  </div>
)

/** Removes a member without a question: adding the user again undoes it. */
async function removeMember({ group_id, name }: TabProps['group'], user: User): Promise<void> {
  try {
    await changeGroup({ operation: 'update', group_id, group: { remove_members: [user.user_id] } })
    toast({ title: `${nameOf(user)} removed from ${name}` })
  } catch (e) {
    toast({ kind: 'bad', title: `${nameOf(user)} was not removed from ${name}`, text: messageOf(e) })
  }
}

/** Reads the page again when the group has changed, since its members are part of its version. */
function useRefetchOnChange(version: string, refetch: () => unknown): void {
  const known = useRef(version)
  useEffect(() => {
    if (known.current === version) return
    known.current = version
    void refetch()
  }, [version, refetch])
}

function rowsText(pagesBefore: number, count: number): string {
  const first = pagesBefore * perPage + 1
  return count === 0 ? 'No more members' : `${formatNumber(first)}–${formatNumber(first + count - 1)}, by username`
}
