import '../device/device.css'
import './users.css'
import { useMemo } from 'react'
import { useApi } from '../../api/use-api.ts'
import { openOverlay, type UserDeed } from '../../shell/overlay.ts'
import { BulkBar } from '../../table/bulk-bar.tsx'
import { useListPage, useListState } from '../../table/list-state.ts'
import { ListView } from '../../table/list-view.tsx'
import { useSelection } from '../../table/selection.ts'
import type { FacetCounts } from '../../table/spec.ts'
import { FirstRun } from '../../ui/empty-state.tsx'
import { UserPanel } from '../user/lazy-panel.tsx'
import { userMenu } from '../user/user-actions.tsx'
import { userKeys } from '../user/user-keys.ts'
import { useUserOff } from '../user/user-off.ts'
import { useBulkVerbs } from './bulk-verbs.ts'
import { usersSpec } from './spec.tsx'
import { AddUserButton, UsersHead } from './users-head.tsx'
import type { User } from './words.ts'

const filterNames = ['q', ...usersSpec.filters.map((filter) => filter.name)]

/** B11: all users of the tenant, with a panel beside the list. */
export function Page() {
  const state = useListState(filterNames, usersSpec.defaultSort)
  const filter = useMemo(() => ({ ...state.filters, ...(state.q && { q: state.q }) }), [state.filters, state.q])
  const query = useListPage('GET /v1/admin/users', state, { count: 'estimate' })
  const facets = useApi('GET /v1/admin/users/facets', { query: filter as object }, { keepsLast: true })
  const counts = facets.data?.facets as FacetCounts | undefined
  const users = query.data?.items
  const ids = useMemo(() => users?.map((user) => user.user_id) ?? [], [users])
  const selection = useSelection(ids, state)
  const off = useUserOff()
  const spec = useMemo(() => ({ ...usersSpec, menuOf: (user: User) => userMenu(user, off) }), [off])
  const keys = useMemo(() => userKeys((id) => users?.find((user) => user.user_id === id), off), [users, off])
  const verbs = useBulkVerbs()
  const isFiltered = Object.keys(filter).length > 0
  const isEmpty = users?.length === 0 && !isFiltered
  // A list on a single page is counted here: the counts of the server are some seconds old.
  const isWhole = users && state.cursor === undefined && query.data?.next_cursor === null
  const matching = isWhole && !query.isPlaceholderData ? { count: users.length, exact: true } : facets.data?.total
  return (
    <ListView
      spec={spec}
      state={state}
      query={query}
      counts={counts}
      selection={selection}
      verbs={keys}
      hrefOf={(id) => `/admin/users/${id}`}
      head={<UsersHead {...{ isEmpty, counts }} matching={isFiltered ? matching : undefined} />}
      firstRun={<NoUsers />}
      bulk={
        <BulkBar
          spec={spec}
          selection={selection}
          shownCount={ids.length}
          hasMore={query.data?.next_cursor != null || state.cursor !== undefined}
          verbs={verbs}
          countAll={refuseAll}
          onVerb={(deed) =>
            openOverlay({
              kind: 'user',
              act: 'deed',
              deed: deed as UserDeed,
              users: users?.filter((user) => selection.ids.has(user.user_id)) ?? [],
              onDone: selection.clear,
            })
          }
        />
      }
      panel={(walk) => <UserPanel {...walk} known={users?.find((user) => user.user_id === walk.id)} />}
    />
  )
}

/** The API has no batch operation for users. */
const refuseAll = (): Promise<number> =>
  Promise.reject(new Error('Users are changed one by one, so a change covers this page at most.'))

const NoUsers = () => (
  <FirstRun
    title="No users yet"
    sentence="Add people by hand, or connect a directory or an identity provider. Each person then appears here."
    action={<AddUserButton label="Add the first user" />}
    command="holdfast user create anna --email anna@example.com"
  />
)
