import type { Role } from '@holdfast/contract/vocabulary'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { withStepUp } from '../../api/step-up.ts'
import { useApi } from '../../api/use-api.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { RadioGroup } from '../../ui/choices.tsx'
import { ComboBox } from '../../ui/combo-box.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { searchUsers } from '../enrollment/pickers.tsx'
import { nameOf, roleHelp, roleNames, roleWords } from '../users/words.ts'
import { expectUserChange, refreshUsers, warningText } from './change-users.ts'
import { useMayHandle, useUserOff } from './user-off.ts'

type Props = { user?: UserRef | undefined; onClose: () => void }

/** Grants an administrator role. Nobody grants a role that allows more than their own. */
export function GrantRole({ user: given, onClose }: Props) {
  const [chosen, setChosen] = useState<ComboOption>()
  const stored = useApi(
    'GET /v1/admin/users/{user_id}',
    { params: { user_id: chosen?.id ?? '' } },
    { enabled: chosen !== undefined },
  )
  const user = given ?? (chosen && stored.data)
  const [role, setRole] = useState<Role>()
  const [reason, setReason] = useState('')
  const [error, setError] = useState<Error>()
  const off = useUserOff()
  const offReason = user
    ? (off('grant_role', user) ?? (role ? undefined : 'Choose a role first.'))
    : 'Choose a user first.'
  const grant = async () => {
    if (!role || !user) return
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
      title={given ? `Grant a role to ${nameOf(given)}` : 'Grant a role'}
      onClose={onClose}
      footer={
        <>
          {role && user && (
            <CopyButton kind="ghost" text={`holdfast role grant ${user.username} ${role}`} label="Copy as command" />
          )}
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Granting…" offReason={offReason} onClick={grant}>
            Grant role
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (offReason === undefined) void grant()
        }}
      >
        <p>The role takes effect within seconds, in running sign-ins too.</p>
        {!given && (
          <ComboBox
            label="User"
            placeholder="Name, username or e-mail"
            value={chosen}
            onChange={(next) => {
              setChosen(next)
              setRole(undefined)
            }}
            search={searchUsers}
          />
        )}
        {stored.error && <ChangeProblem error={stored.error} />}
        <Roles held={user?.roles ?? []} value={role} onChange={setRole} />
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

type RolesProps = { held: readonly Role[]; value: Role | undefined; onChange: (role: Role) => void }

/** All roles with their purpose. A role that the user has, or that allows more than the caller's, is off. */
function Roles({ held, value, onChange }: RolesProps) {
  const mayHandle = useMayHandle()
  const options = roleNames.map((role) => ({
    value: role,
    label: roleWords(role),
    help: `${roleHelp[role]}.`,
    offReason: held.includes(role)
      ? 'The user has this role.'
      : mayHandle(role)
        ? undefined
        : 'This role allows more than you may do.',
  }))
  return <RadioGroup label="Role" options={options} value={value} onChange={onChange} />
}
