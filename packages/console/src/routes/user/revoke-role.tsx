import type { Role } from '@holdfast/contract/vocabulary'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf, roleWords } from '../users/words.ts'
import { expectUserChange, refreshUsers, warningText } from './change-users.ts'

type RevokeProps = { user: UserRef; role: Role; onClose: () => void }

/** Asks before a role is revoked. The server refuses this for the last administrator. */
export function RevokeRole({ user, role, onClose }: RevokeProps) {
  const [error, setError] = useState<Error>()
  const isOwn = useMe().user?.user_id === user.user_id
  const label = roleWords(role)
  const act = async (reason: string | undefined) => {
    setError(undefined)
    try {
      expectUserChange()
      const body = { user_id: user.user_id, role, ...(reason !== undefined && { reason }) }
      const { warnings } = await withStepUp(() => call('POST /v1/admin/rbac/revoke', { body }))
      await refreshUsers()
      toast({ title: `${nameOf(user)} is not ${label} any more`, text: warningText(warnings) })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`Revoke the role ${label} from ${nameOf(user)}?`}
      lede="You can grant it again."
      objects={{ names: [nameOf(user) === user.username ? user.username : `${nameOf(user)}, ${user.username}`] }}
      effects={[
        { icon: 'ban', text: `${nameOf(user)} loses the permissions of this role within seconds` },
        { icon: 'laptop', text: 'The devices keep their access' },
        ...(isOwn ? [{ icon: 'warn' as const, text: 'This is your own account' }] : []),
      ]}
      reason="optional"
      keepLabel="Keep role"
      deedLabel="Revoke role"
      busyLabel="Revoking…"
      command={`holdfast role revoke ${user.username} ${role}`}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}
