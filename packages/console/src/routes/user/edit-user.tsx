import { useState } from 'react'
import { type ApiError, isOvertaken } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Note } from '../../ui/note.tsx'
import { Overtaken } from '../../ui/overtaken.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { nameOf, type User } from '../users/words.ts'
import { expectUserChange, refreshUsers, type UserAnswer } from './change-users.ts'
import { useStoredUser } from './use-stored-user.ts'
import { type Profile, profileOf, UserFields } from './user-fields.tsx'

type Props = { user: UserRef; onClose: () => void }

/** Sheet that changes username, name and e-mail address. The fields of a user from a directory are off. */
export function EditUser({ user, onClose }: Props) {
  const query = useStoredUser(user.user_id)
  if (query.data) return <EditForm {...{ answer: query.data, onClose }} onReload={query.refetch} />
  return (
    <Sheet title={`Edit ${nameOf(user)}`} onClose={onClose}>
      {query.error ? <Problem error={query.error} retry={query.refetch} what="this user" /> : <SkeletonLines />}
    </Sheet>
  )
}

type FormProps = { answer: UserAnswer; onClose: () => void; onReload: () => Promise<unknown> }

function EditForm({ answer: { body: user, etag }, onClose, onReload }: FormProps) {
  const stored = storedOf(user)
  const [draft, setDraft] = useDraft(`edit ${user.user_id}`, { ...stored, reason: '' })
  const [error, setError] = useState<ApiError>()
  const isOwned = user.source === 'directory'
  const isChanged = JSON.stringify(profileOf(draft)) !== JSON.stringify(profileOf(stored))
  const isStale = error !== undefined && isOvertaken(error)
  const save = async () => {
    setError(undefined)
    try {
      expectUserChange()
      const reason = draft.reason.trim()
      const body = { operation: 'update' as const, user_id: user.user_id, user: profileOf(draft) }
      const input = { body: { ...body, ...(reason && { reason }) } }
      await call('POST /v1/admin/users/lifecycle', input, { ifMatch: etag })
      await refreshUsers()
      toast({ title: `${nameOf(profileOf(draft))} saved` })
      onClose()
    } catch (e) {
      // Reads the stored version and shows it beside this one. Saving again overwrites it.
      if (isOvertaken(e)) await onReload()
      setError(e as ApiError)
    }
  }
  return (
    <Sheet
      title={`Edit ${nameOf(user)}`}
      isHeld={isChanged && 'typed'}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Saving…" onClick={save} offReason={offReasonOf(isOwned, isChanged)}>
            {isStale ? 'Overwrite with my changes' : 'Save user'}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (isChanged && !isOwned) void save()
        }}
      >
        {isOwned && (
          <Note icon="lock" kind="info" title="The directory owns these fields.">
            Change them there. The next run of the directory would overwrite a change here.
          </Note>
        )}
        <UserFields
          value={draft}
          onChange={(next) => setDraft({ ...draft, ...next })}
          error={error}
          {...(isOwned && { offReason: 'Comes from the directory.' })}
        />
        {!isOwned && (
          <TextField
            label="Reason"
            help="Recorded in the audit log."
            value={draft.reason}
            onChange={(reason) => setDraft({ ...draft, reason })}
            maxLength={500}
            optional
          />
        )}
        {isStale && (
          <Overtaken
            noun="user"
            changes={differencesOf(stored, draft)}
            onTake={() => {
              setDraft({ ...stored, reason: draft.reason })
              setError(undefined)
            }}
          />
        )}
        {error && !isStale && !isShownAtField(error) && <ChangeProblem error={error} />}
        <button type="submit" hidden tabIndex={-1}>
          Save user
        </button>
      </form>
    </Sheet>
  )
}

const storedOf = ({ username, display_name, email }: User): Profile => ({ username, display_name, email: email ?? '' })
const isShownAtField = ({ errors }: ApiError): boolean => errors?.some(({ field }) => /^user\./.test(field)) ?? false
const offReasonOf = (isOwned: boolean, isChanged: boolean) =>
  isOwned ? 'The directory owns these fields.' : isChanged ? undefined : 'There is no change to save.'

const labels = { username: 'Username', display_name: 'Name', email: 'E-mail' } as const
const differencesOf = (theirs: Profile, mine: Profile) =>
  (Object.keys(labels) as (keyof Profile)[]).map((name) => ({
    field: labels[name],
    before: theirs[name] || '–',
    after: mine[name] || '–',
  }))
