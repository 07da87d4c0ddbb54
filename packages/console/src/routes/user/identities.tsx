import { useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { withStepUp } from '../../api/step-up.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { Part } from '../../ui/part.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf, type User } from '../users/words.ts'
import { expectUserChange, refreshUsers } from './change-users.ts'
import { LinkIdentity } from './link-identity.tsx'
import type { TabProps } from './tab.ts'

type Identity = OutputOf<'GET /v1/admin/users/{user_id}/identities'>['items'][number]

/** Accounts of identity providers with which the user signs in. */
export function Identities({ user, inPanel }: TabProps) {
  const query = useApi('GET /v1/admin/users/{user_id}/identities', { params: { user_id: user.user_id } })
  const off = useOffReason()
  const [open, setOpen] = useState<Identity | 'link'>()
  const close = () => setOpen(undefined)
  const offReason = off('credentials:write')
  const hasRows = (query.data?.items.length ?? 0) > 0
  return (
    <Part
      title="Accounts of providers"
      inPanel={inPanel}
      inset={hasRows ? 'flush' : undefined}
      aside={
        <Button size="sm" kind="ghost" offReason={offReason ?? off('settings:read')} onClick={() => setOpen('link')}>
          Link account…
        </Button>
      }
    >
      <QueryView query={query} what="the linked accounts of this user">
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">No account is linked. Link one, and the user can sign in through the provider.</p>
          ) : (
            <Table
              columns={[...columns, unlinkColumn(offReason, setOpen)]}
              rows={items}
              keyOf={({ provider_id, subject }) => `${provider_id} ${subject}`}
            />
          )
        }
      </QueryView>
      {open === 'link' && <LinkIdentity user={user} onClose={close} />}
      {open !== undefined && open !== 'link' && <Unlink user={user} identity={open} onClose={close} />}
    </Part>
  )
}

const columns: readonly TableColumn<Identity>[] = [
  { label: 'Provider', cell: ({ provider_name }) => provider_name },
  { label: 'Account', cell: ({ subject }) => <CopyId id={subject} short={shortOf(subject)} /> },
  { label: 'Linked', className: 'p3', cell: ({ linked_at }) => <Timestamp at={linked_at} className="soft" /> },
  {
    label: 'Last sign-in',
    className: 'p2',
    cell: ({ last_login_at }) => <Timestamp at={last_login_at} className="soft" empty="never" />,
  },
]
const shortOf = (subject: string) => (subject.length > 14 ? `${subject.slice(0, 12)}…` : subject)

const unlinkColumn = (
  offReason: string | undefined,
  onUnlink: (identity: Identity) => void,
): TableColumn<Identity> => ({
  label: 'Actions',
  className: 'x',
  cell: (identity) => (
    <div className="acts">
      <Button size="sm" kind="ghost" offReason={offReason} onClick={() => onUnlink(identity)}>
        Unlink… <span className="vh">account of {identity.provider_name}</span>
      </Button>
    </div>
  ),
})

type UnlinkProps = { user: User; identity: Identity; onClose: () => void }

function Unlink({ user, identity, onClose }: UnlinkProps) {
  const { provider_id, provider_name, subject } = identity
  const [error, setError] = useState<Error>()
  const act = async (reason: string | undefined) => {
    setError(undefined)
    try {
      expectUserChange()
      const body = { provider_id, subject, ...(reason !== undefined && { reason }) }
      const params = { user_id: user.user_id }
      await withStepUp(() => call('POST /v1/admin/users/{user_id}/identities/unlink', { params, body }))
      await refreshUsers()
      toast({ title: `${nameOf(user)} is not linked with ${provider_name} any more` })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`Unlink ${nameOf(user)} from ${provider_name}?`}
      objects={{ names: [`${provider_name}: ${subject}`] }}
      effects={[
        { icon: 'ban', text: 'This account of the provider no longer opens the user' },
        { icon: 'out', text: 'The sign-ins that it opened end' },
      ]}
      reason="optional"
      keepLabel="Keep account"
      deedLabel="Unlink account"
      busyLabel="Unlinking…"
      command={`holdfast user unlink ${user.username} --provider ${provider_id} --subject ${subject}`}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}
