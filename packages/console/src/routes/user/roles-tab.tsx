import type { Role } from '@holdfast/contract/vocabulary'
import { useState } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Part } from '../../ui/part.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { roleWords, type User } from '../users/words.ts'
import { RevokeRole } from './revoke-role.tsx'
import type { TabProps } from './tab.ts'
import { askFor } from './user-actions.tsx'
import { useMayHandle, useUserOff } from './user-off.ts'

type Grant = OutputOf<'GET /v1/admin/rbac/grants'>['items'][number]
const most = 50

/** Administrator roles of the user, with who granted them. */
export function RolesTab({ user, inPanel }: TabProps) {
  const can = useCan()
  const off = useUserOff()
  const query = useApi(
    'GET /v1/admin/rbac/grants',
    { query: { user_id: user.user_id, limit: most } },
    { enabled: can('rbac:read') },
  )
  const [revoking, setRevoking] = useState<Role>()
  const hasRows = (query.data?.items.length ?? 0) > 0
  return (
    <>
      <div className="row wrap">
        <Button size="sm" offReason={off('grant_role', user)} onClick={() => askFor('grant_role', user)}>
          Grant role…
        </Button>
      </div>
      <Part title="Admin roles" inPanel={inPanel} inset={hasRows ? 'flush' : undefined}>
        {can('rbac:read') ? (
          <QueryView query={query} what="the roles of this user">
            {({ items }) => <GrantTable user={user} grants={items} onRevoke={setRevoking} />}
          </QueryView>
        ) : (
          <NamesOnly user={user} />
        )}
      </Part>
      {revoking && <RevokeRole user={user} role={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

const none = 'The user has no admin role. Devices of the user need none.'

const NamesOnly = ({ user: { roles } }: { user: User }) => (
  <>
    {roles.length === 0 ? (
      <p className="soft">{none}</p>
    ) : (
      <span className="tags">
        {roles.map((role) => (
          <Badge key={role}>{roleWords(role)}</Badge>
        ))}
      </span>
    )}
    <p className="soft xs">The times of the grants need the permission rbac:read.</p>
  </>
)

type TableProps = { user: User; grants: readonly Grant[]; onRevoke: (role: Role) => void }

function GrantTable({ user, grants, onRevoke }: TableProps) {
  const off = useOffReason()('rbac:write')
  const mayHandle = useMayHandle()
  if (grants.length === 0) return <p className="soft">{none}</p>
  const beyond = user.roles.some((role) => !mayHandle(role)) ? 'The user has a role that allows more.' : undefined
  const columns: readonly TableColumn<Grant>[] = [
    { label: 'Role', cell: ({ role }) => roleWords(role) },
    { label: 'Granted', cell: ({ granted_at }) => <Timestamp at={granted_at} className="soft" /> },
    {
      label: 'By',
      className: 'p3',
      cell: ({ granted_by_name, granted_by }) => <span className="soft">{granted_by_name ?? granted_by ?? '–'}</span>,
    },
    {
      label: 'Actions',
      className: 'x',
      cell: ({ role }) => (
        <div className="acts">
          <Button size="sm" kind="ghost" offReason={off ?? beyond} onClick={() => onRevoke(role)}>
            Revoke… <span className="vh">{roleWords(role)}</span>
          </Button>
        </div>
      ),
    },
  ]
  return <Table columns={columns} rows={grants} keyOf={({ role }) => role} />
}
