import { type FormEvent, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { useNavigation } from '../../navigation.ts'
import { quoted } from '../../table/command.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { RadioGroup } from '../../ui/choices.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { focusFirstError } from '../../ui/field.tsx'
import { FieldErrors } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { GroupsPicker } from '../enrollment/pickers.tsx'
import { nameOf, type User } from '../users/words.ts'
import { expectUserChange, refreshUsers } from './change-users.ts'
import { TemporaryPassword } from './set-password.tsx'
import { profileOf, UserFields } from './user-fields.tsx'

type Secret = OutputOf<'POST /v1/admin/users/password'>
type Way = 'temporary' | 'provider' | 'service'
const empty = {
  username: '',
  display_name: '',
  email: '',
  groups: [] as readonly ComboOption[],
  way: 'temporary' as Way,
}
type Draft = typeof empty

/** Creates a user, then a temporary password if the user signs in with one. Both are separate requests of the API. */
export function CreateUser({ onClose }: { onClose: () => void }) {
  const { go } = useNavigation()
  const [made, setMade] = useState<{ user: User; secret: Secret }>()
  const open = (user: User) => {
    onClose()
    go('/admin/users', { open: user.user_id })
  }
  if (made) return <TemporaryPassword user={made.user} done={made.secret} onClose={() => open(made.user)} />
  const finish = (user: User, secret: Secret | undefined) => {
    if (secret) return setMade({ user, secret })
    open(user)
  }
  return <CreateForm onMade={finish} onClose={onClose} />
}

type FormProps = { onMade: (user: User, secret: Secret | undefined) => void; onClose: () => void }

function CreateForm({ onMade, onClose }: FormProps) {
  const [draft, setDraft] = useDraft<Draft>('create user', empty)
  const [error, setError] = useState<ApiError>()
  const form = useRef<HTMLFormElement>(null)
  const ways = useWays()
  const isMissing = draft.username.trim() === ''
  const create = async () => {
    setError(undefined)
    try {
      expectUserChange()
      const { user } = await call('POST /v1/admin/users/lifecycle', { body: bodyOf(draft) })
      toast({ title: `${nameOf(user)} added` })
      const secret = draft.way === 'temporary' ? await passwordFor(user) : undefined
      await refreshUsers()
      onMade(user, secret)
    } catch (e) {
      setError(e as ApiError)
      focusFirstError(form.current)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isMissing) void create()
  }
  return (
    <Sheet
      title="Add user"
      isHeld={draft !== empty && !isMissing && 'typed'}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={commandOf(draft)} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busyLabel="Adding…"
            offReason={isMissing ? 'Enter a username first.' : undefined}
            onClick={create}
          >
            Add user
          </Button>
        </>
      }
    >
      <form className="stack" ref={form} onSubmit={submit} noValidate>
        <UserFields value={draft} onChange={(next) => setDraft({ ...draft, ...next })} error={error} />
        <RadioGroup
          label="How the user signs in"
          options={ways}
          value={
            ways.find(({ value, offReason }) => value === draft.way && offReason === undefined)?.value ?? 'provider'
          }
          onChange={(way) => setDraft({ ...draft, way })}
        />
        <GroupsPicker
          label="Groups"
          value={draft.groups}
          onChange={(groups) => setDraft({ ...draft, groups })}
          error={error?.errors?.find(({ field }) => field.startsWith('user.group_ids'))?.message}
        />
        {error && <FieldErrors error={error} fields={['user']} />}
        {error && !(error.errors?.length > 0) && <ChangeProblem error={error} />}
        <button type="submit" hidden tabIndex={-1}>
          Add user
        </button>
      </form>
    </Sheet>
  )
}

type WayOption = { value: Way; label: string; help: string; offReason?: string | undefined }

function useWays(): readonly WayOption[] {
  const offReason = useOffReason()('credentials:write')
  return [
    {
      value: 'temporary',
      label: 'Temporary password',
      help: 'The next step shows it once. The user chooses a new one after the sign-in.',
      offReason,
    },
    {
      value: 'provider',
      label: 'No password',
      help: 'The user owns devices. Link an account of an identity provider, or set a password later.',
    },
    { value: 'service', label: 'Service account', help: 'For a program: no sign-in, but own API keys.' },
  ]
}

/** Generates a password. The user exists already, so a failure is only a message. */
async function passwordFor(user: User): Promise<Secret | undefined> {
  try {
    return await call('POST /v1/admin/users/password', { body: { user_id: user.user_id, generate: true } })
  } catch (e) {
    toast({ kind: 'bad', title: `${nameOf(user)} has no password yet`, text: (e as Error).message })
    return undefined
  }
}

function bodyOf(draft: Draft) {
  const { email, ...profile } = profileOf(draft)
  return {
    operation: 'create' as const,
    user: {
      ...profile,
      ...(email !== null && { email }),
      kind: draft.way === 'service' ? ('service' as const) : ('person' as const),
      ...(draft.groups.length > 0 && { group_ids: draft.groups.map((group) => group.id) }),
    },
  }
}

function commandOf(draft: Draft): string {
  const { username, display_name, email } = profileOf(draft)
  return [
    `holdfast user create ${quoted(username || 'anna')}`,
    draft.way === 'service' && '--service',
    email !== null && `--email ${quoted(email)}`,
    display_name && `--display-name ${quoted(display_name)}`,
    draft.groups.length > 0 && `--group ${draft.groups.map(({ label }) => quoted(label)).join(' ')}`,
  ]
    .filter(Boolean)
    .join(' ')
}
