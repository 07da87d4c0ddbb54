import { useState } from 'react'
import type { InputOf, OutputOf } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { useListState } from '../../table/list-state.ts'
import { Pager } from '../../table/pager.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { copyCommand } from '../../ui/copy-command.ts'
import { FilteredEmpty } from '../../ui/empty-state.tsx'
import { FacetPill } from '../../ui/facet.tsx'
import { Frame } from '../../ui/frame.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { RevokeRole } from '../user/revoke-role.tsx'
import { useMayHandle } from '../user/user-off.ts'
import { roleNames, roleWords } from '../users/words.ts'

type Grant = OutputOf<'GET /v1/admin/rbac/grants'>['items'][number]
const filterNames = ['role']
const perPage = 100
const options = roleNames.map((value) => ({ value, label: roleWords(value) }))

/** Grants of roles with their time and author, newest first. */
export function GrantsTab() {
  const state = useListState(filterNames, '')
  const { role } = state.filters
  // Without an order of its own, the stream of changes reads the grants again at once.
  const input = { query: { limit: perPage, ...(role && { role }), ...(state.cursor && { cursor: state.cursor }) } }
  const query = useApi('GET /v1/admin/rbac/grants', input as InputOf<'GET /v1/admin/rbac/grants'>, { keepsLast: true })
  const [revoking, setRevoking] = useState<Grant>()
  const columns = useColumns(setRevoking)
  return (
    <>
      <div className="filters">
        <FacetPill
          label="Role"
          options={options}
          selected={role === undefined ? [] : [role]}
          onChange={([next]) => state.set({ role: next })}
          isSingle
        />
        <div className="end">
          <Button size="sm" kind="ghost" icon="term" onClick={() => copyCommand(commandOf(role))}>
            Copy as command
          </Button>
        </div>
      </div>
      <Frame title="Grants" inset="flush">
        <QueryView query={query} what="the grants of roles">
          {({ items, next_cursor }) =>
            items.length === 0 && role !== undefined ? (
              <FilteredEmpty
                title="Nobody has this role"
                filters={[{ name: 'role', label: 'Role', value: roleWords(role) }]}
                onClear={() => state.set({ role: undefined })}
                onClearAll={() => state.set({ role: undefined })}
              />
            ) : (
              <>
                <Table columns={columns} rows={items} keyOf={({ user_id, role: of }) => `${user_id} ${of}`} />
                {(next_cursor !== null || state.cursor !== undefined) && (
                  <div className="row in">
                    <Pager state={state} nextCursor={next_cursor} />
                  </div>
                )}
              </>
            )
          }
        </QueryView>
      </Frame>
      {revoking && <RevokeRole user={revoking} role={revoking.role} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

const commandOf = (role: string | undefined): string => `holdfast role grants${role ? ` --role ${role}` : ''}`

function useColumns(onRevoke: (grant: Grant) => void): readonly TableColumn<Grant>[] {
  const off = useOffReason()('rbac:write')
  const mayHandle = useMayHandle()
  return [
    {
      label: 'User',
      cell: ({ user_id, username }) => (
        <AppLink className="rowlink" to={`/admin/roles?tab=person&user_id=${user_id}`}>
          {username}
        </AppLink>
      ),
    },
    { label: 'Role', cell: ({ role }) => roleWords(role) },
    {
      label: 'Granted',
      className: 'p2',
      cell: ({ granted_at }) => <Timestamp at={granted_at} className="soft" />,
    },
    {
      label: 'By',
      className: 'p3',
      cell: ({ granted_by_name, granted_by }) => <span className="soft">{granted_by_name ?? granted_by ?? '–'}</span>,
    },
    {
      label: 'Actions',
      className: 'x',
      cell: (grant) => (
        <div className="acts">
          <Button
            size="sm"
            kind="ghost"
            offReason={off ?? (mayHandle(grant.role) ? undefined : 'This role allows more than you may do.')}
            onClick={() => onRevoke(grant)}
          >
            Revoke…{' '}
            <span className="vh">
              {roleWords(grant.role)} from {grant.username}
            </span>
          </Button>
        </div>
      ),
    },
  ]
}
