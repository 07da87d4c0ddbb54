import { type FormEvent, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { useOffReason } from '../../api/me.ts'
import { useNavigation } from '../../navigation.ts'
import { quoted } from '../../table/command.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { focusFirstError } from '../../ui/field.tsx'
import { FieldErrors } from '../../ui/problem.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { changeGroup } from './change-groups.ts'
import { GroupFields, groupNamesOf } from './group-fields.tsx'
import { MembersField } from './members-field.tsx'

const empty = { name: '', description: '', members: [] as readonly ComboOption[] }

/** Creates a group with its first members, and opens it beside the list. */
export function CreateGroup({ onClose }: { onClose: () => void }) {
  const { go } = useNavigation()
  const [draft, setDraft] = useDraft('create group', empty)
  const [error, setError] = useState<ApiError>()
  const form = useRef<HTMLFormElement>(null)
  const offReason = useOffReason()('groups:write') ?? (draft.name.trim() === '' ? 'Enter a name first.' : undefined)
  const create = async () => {
    setError(undefined)
    try {
      const members = draft.members.map(({ id }) => id)
      const fields = { ...groupNamesOf(draft), ...(members.length > 0 && { members }) }
      const { group } = await changeGroup({ operation: 'create', group: fields })
      toast({ title: `${group.name} created` })
      onClose()
      go('/admin/groups', { open: group.group_id })
    } catch (e) {
      setError(e as ApiError)
      focusFirstError(form.current)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (offReason === undefined) void create()
  }
  return (
    <Sheet
      title="Create group"
      isHeld={draft !== empty && draft.name.trim() !== '' && 'typed'}
      onClose={onClose}
      footer={
        <>
          <CopyButton kind="ghost" text={commandOf(draft)} label="Copy as command" />
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Creating…" offReason={offReason} onClick={create}>
            Create group
          </Button>
        </>
      }
    >
      <form className="stack" ref={form} onSubmit={submit} noValidate>
        <GroupFields value={draft} onChange={(next) => setDraft({ ...draft, ...next })} error={error} />
        <MembersField
          optional
          value={draft.members}
          onChange={(members) => setDraft({ ...draft, members })}
          error={error?.errors?.find(({ field }) => field.startsWith('group.members'))?.message}
        />
        {error && <FieldErrors error={error} fields={['group']} />}
        {error && !(error.errors?.length > 0) && <ChangeProblem error={error} />}
        <button type="submit" hidden tabIndex={-1}>
          Create group
        </button>
      </form>
    </Sheet>
  )
}

function commandOf({ members, ...draft }: typeof empty): string {
  const { name, description } = groupNamesOf(draft)
  return [
    `holdfast group create ${quoted(name || 'engineering')}`,
    description && `--description ${quoted(description)}`,
    members.length > 0 && `--member ${members.map(({ label }) => quoted(label)).join(' ')}`,
  ]
    .filter(Boolean)
    .join(' ')
}
