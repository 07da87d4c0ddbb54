import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { withStepUp } from '../../api/step-up.ts'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf, type User } from '../users/words.ts'
import { expectUserChange, refreshUsers } from './change-users.ts'
import { useStoredUser } from './use-stored-user.ts'

/** Returns the reason why the mark of a break-glass user cannot be changed. */
export function useBreakGlassOff({ source }: User): string | undefined {
  const off = useOffReason()('rbac:write')
  return off ?? (source === 'local' ? undefined : 'Only a local user has a password here.')
}

/** Asks before a user becomes a break-glass user, or is none any more. */
export function BreakGlass({ user, onClose }: { user: User; onClose: () => void }) {
  const [error, setError] = useState<Error>()
  const stored = useStoredUser(user.user_id)
  const to = !user.break_glass
  const name = nameOf(user)
  const act = async (reason: string | undefined) => {
    setError(undefined)
    try {
      expectUserChange()
      const body = { user_id: user.user_id, break_glass: to, ...(reason !== undefined && { reason }) }
      const ifMatch = stored.data?.etag
      await withStepUp(() => call('POST /v1/admin/users/break-glass', { body }, { ifMatch }))
      await refreshUsers()
      toast({ title: `${name} is ${to ? 'a' : 'no'} break-glass user${to ? '' : ' any more'}` })
      onClose()
    } catch (e) {
      await stored.refetch()
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={to ? `Make ${name} a break-glass user?` : `End the break-glass mark of ${name}?`}
      lede="A break-glass user signs in when the identity provider fails. Keep the password in a safe."
      objects={{ names: [`${name}, ${user.username}`] }}
      effects={[
        to
          ? { icon: 'key', text: 'The password opens the account even while single sign-on is enforced' }
          : { icon: 'ban', text: 'While single sign-on is enforced, the password no longer opens the account' },
      ]}
      reason="optional"
      keepLabel="Cancel"
      deedLabel={to ? 'Make break glass' : 'End break glass'}
      busyLabel="Saving…"
      command={`holdfast user break-glass ${user.username}${to ? '' : ' --off'}`}
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}
