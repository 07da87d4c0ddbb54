import type { Role } from '@holdfast/contract/vocabulary'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { RadioGroup } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { nameOf, roleHelp, roleNames, roleWords } from '../users/words.ts'
import { expectUserChange, refreshUsers, warningText } from './change-users.ts'
import { useMayHandle } from './user-off.ts'

type Props = { user: UserRef; onClose: () => void }

/** Grants an administrator role. Nobody grants a role that allows more than their own. */
export function GrantRole({ user, onClose }: Props) {
  const mayHandle = useMayHandle()
  const held = user.roles ?? []
  const [role, setRole] = useState<Role>()
  const [reason, setReason] = useState('')
  const [error, setError] = useState<Error>()
  const options = roleNames.map((value) => ({
    value,
    label: roleWords(value),
    help: `${roleHelp[value]}.`,
    offReason: held.includes(value)
      ? 'The user has this role.'
      : mayHandle(value)
        ? undefined
        : 'This role allows more than you may do.',
  }))
  const grant = async () => {
    if (!role) return
    setError(undefined)
    try {
      expectUserChange()
      const why = reason.trim()
      const body = { user_id: user.user_id, role, ...(why && { reason: why }) }
      const { warnings } = await withStepUp(() => call('POST /v1/admin/rbac/grant', { body }))
      await refreshUsers()
      toast({ title: `${nameOf(user)} is ${roleWords(role)} now`, text: warningText(warnings) })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Sheet
      title={`Grant a role to ${nameOf(user)}`}
      onClose={onClose}
      footer={
        <>
          {role && (
            <CopyButton kind="ghost" text={`holdfast role grant ${user.username} ${role}`} label="Copy as command" />
          )}
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busyLabel="Granting…"
            offReason={role ? undefined : 'Choose a role first.'}
            onClick={grant}
          >
            Grant role
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void grant()
        }}
      >
        <p>The role takes effect within seconds, in running sign-ins too.</p>
        <RadioGroup label="Role" options={options} value={role} onChange={setRole} />
        <TextField
          label="Reason"
          help="Recorded in the audit log."
          value={reason}
          onChange={setReason}
          maxLength={500}
          optional
        />
        {error && <ChangeProblem error={error} />}
        <button type="submit" hidden tabIndex={-1}>
          Grant role
        </button>
      </form>
    </Sheet>
  )
}
