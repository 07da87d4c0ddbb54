import type { Role } from '@holdfast/contract/vocabulary'
import { useQueries } from '@tanstack/react-query'
import type { ApiError } from '../../api/api-error.ts'
import { useCan } from '../../api/me.ts'
import { apiQuery } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { SelectField } from '../../ui/fields.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { type QueryState, QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { roleWords } from '../users/words.ts'
import { permissionsOf, type RoleRights, rolesWith } from './matrix.ts'

/** Grants or keys that are read for each role. */
const most = 200
/** User or API key, and the roles through which it has the permission. */
type Holder = { id: string; name: string; roles: readonly Role[] }
type Held = { holders: readonly Holder[]; isWhole: boolean }

/** Roles, people and API keys that have a permission. */
export function WhoTab({ roles }: { roles: readonly RoleRights[] }) {
  const { change } = useNavigation()
  const { permission = '' } = useSearch()
  const found = rolesWith(roles, permission)
  const choices = permissionsOf(roles).map((value) => ({ value: value as string, label: value as string }))
  return (
    <>
      <div className="who">
        <SelectField
          label="Permission"
          options={[{ value: '', label: 'Choose a permission' }, ...choices]}
          value={permission}
          onChange={(next) => change({ permission: next || undefined }, { replace: true })}
        />
      </div>
      {permission !== '' && <Answer key={permission} roles={found} permission={permission} />}
    </>
  )
}

function Answer({ roles, permission }: { roles: readonly RoleRights[]; permission: string }) {
  const names = roles.map(({ role }) => role)
  return (
    <div className="cols">
      <Frame title="Roles" className="c4" inset="flush">
        {roles.length === 0 ? (
          <p className="soft in">No role has the permission {permission}.</p>
        ) : (
          <Table look="mini" columns={roleColumns} rows={roles} keyOf={({ role }) => role} />
        )}
      </Frame>
      <People roles={names} permission={permission} />
      <Keys roles={names} permission={permission} />
    </div>
  )
}

type AnswerProps = { roles: readonly Role[]; permission: string }

/** A query for each role. People with several of the roles are listed once. */
function People({ roles, permission }: AnswerProps) {
  const query = useQueries({
    queries: roles.map((role) => apiQuery('GET /v1/admin/rbac/grants', { query: { role, limit: most } })),
    combine: (results) =>
      combined(results, (pages) =>
        holdersOf(pages.flatMap(({ items }) => items.map((g) => ({ id: g.user_id, name: g.username, role: g.role })))),
      ),
  })
  return (
    <HolderFrame
      title="People"
      query={query}
      what="the grants of these roles"
      none={`Nobody has the permission ${permission}.`}
      columns={peopleColumns}
    />
  )
}

/** API keys have roles too, so they can do the same. */
function Keys({ roles, permission }: AnswerProps) {
  const mayRead = useCan()('api_keys:read')
  const query = useQueries({
    queries: (mayRead ? roles : []).map((role) =>
      apiQuery('GET /v1/admin/api-keys', { query: { role, status: 'active' as const, limit: most } }),
    ),
    combine: (results) =>
      combined(results, (pages) =>
        holdersOf(
          pages.flatMap(({ items }) => items.map((key) => ({ id: key.key_id, name: key.name, role: key.role }))),
        ),
      ),
  })
  if (!mayRead)
    return (
      <Frame title="API keys" className="c4">
        <NoPermission what="API keys" permission="api_keys:read" />
      </Frame>
    )
  return (
    <HolderFrame
      title="API keys"
      query={query}
      what="API keys"
      none={`No API key has the permission ${permission}.`}
      columns={keyColumns}
    />
  )
}

type FrameProps = {
  title: string
  query: QueryState<Held>
  what: string
  none: string
  columns: readonly TableColumn<Holder>[]
}

const HolderFrame = ({ title, query, what, none, columns }: FrameProps) => (
  <Frame
    title={title}
    className="c4"
    inset="flush"
    aside={
      query.data && (
        <span className="soft xs">
          {query.data.isWhole ? '' : 'at least '}
          {formatNumber(query.data.holders.length)}
        </span>
      )
    }
  >
    <QueryView query={query} what={what}>
      {({ holders }) =>
        holders.length === 0 ? (
          <p className="soft in">{none}</p>
        ) : (
          <Table look="mini" columns={columns} rows={holders} keyOf={({ id }) => id} />
        )
      }
    </QueryView>
  </Frame>
)

type Found = { id: string; name: string; role: Role }

function holdersOf(found: readonly Found[]): Holder[] {
  const byId = Map.groupBy(found, ({ id }) => id)
  return Array.from(byId, ([id, all]) => ({ id, name: all[0]?.name ?? id, roles: all.map(({ role }) => role) })).sort(
    (a, b) => a.name.localeCompare(b.name),
  )
}

type Page = { next_cursor: string | null }
type Result<P> = {
  data: P | undefined
  error: ApiError | null
  dataUpdatedAt: number
  refetch: () => Promise<unknown>
}

/** Combines one query for each role into one. */
const combined = <P extends Page>(
  results: readonly Result<P>[],
  holders: (pages: readonly P[]) => Holder[],
): QueryState<Held> => {
  const pages = results.flatMap(({ data }) => (data ? [data] : []))
  return {
    data:
      pages.length === results.length
        ? { holders: holders(pages), isWhole: pages.every(({ next_cursor }) => next_cursor === null) }
        : undefined,
    error: results.find(({ error }) => error)?.error ?? null,
    dataUpdatedAt: Math.min(...results.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    refetch: () => Promise.all(results.map(({ refetch }) => refetch())),
  }
}

const Roles = ({ roles }: { roles: readonly Role[] }) => (
  <span className="tags">
    {roles.map((role) => (
      <Badge key={role}>{roleWords(role)}</Badge>
    ))}
  </span>
)

const roleColumns: readonly TableColumn<RoleRights>[] = [
  {
    label: 'Role',
    isHead: true,
    cell: ({ role }) => (
      <AppLink className="rowlink" to={`/admin/roles?tab=grants&role=${role}`}>
        {roleWords(role)}
      </AppLink>
    ),
  },
]
const peopleColumns: readonly TableColumn<Holder>[] = [
  {
    label: 'User',
    isHead: true,
    cell: ({ id, name }) => (
      <AppLink className="rowlink" to={`/admin/roles?tab=person&user_id=${id}`}>
        {name}
      </AppLink>
    ),
  },
  { label: 'By role', cell: ({ roles }) => <Roles roles={roles} /> },
]
const keyColumns: readonly TableColumn<Holder>[] = [
  { label: 'Key', isHead: true, cell: ({ name }) => name },
  { label: 'By role', cell: ({ roles }) => <Roles roles={roles} /> },
]
