import { useState } from 'react'
import { type ApiError, isOvertaken } from '../../api/api-error.ts'
import type { GroupRef } from '../../shell/overlay.ts'
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
import { usePolicyUses } from '../groups/use-policy-uses.ts'
import { changeGroup, type GroupAnswer } from './change-groups.ts'
import { GroupFields, type GroupNames, groupNamesOf } from './group-fields.tsx'
import { useGroupOff } from './group-off.ts'
import { useStoredGroup } from './use-stored-group.ts'

/** Sheet that changes name and description of a group. */
export function EditGroup({ group, onClose }: { group: GroupRef; onClose: () => void }) {
  const query = useStoredGroup(group.group_id)
  if (query.data) return <EditForm {...{ answer: query.data, onClose }} onReload={query.refetch} />
  return (
    <Sheet title={`Rename ${group.name}`} onClose={onClose}>
      {query.error ? <Problem error={query.error} retry={query.refetch} what="this group" /> : <SkeletonLines />}
    </Sheet>
  )
}

type FormProps = { answer: GroupAnswer; onClose: () => void; onReload: () => Promise<unknown> }

function EditForm({ answer: { body: group, etag }, onClose, onReload }: FormProps) {
  const stored = { name: group.name, description: group.description }
  const [draft, setDraft] = useDraft(`edit ${group.group_id}`, { ...stored, reason: '' })
  const [error, setError] = useState<ApiError>()
  const names = groupNamesOf(draft)
  const isChanged = names.name !== stored.name || names.description !== stored.description
  const isStale = error !== undefined && isOvertaken(error)
  const offReason = useGroupOff()(group) ?? (isChanged ? undefined : 'There is no change to save.')
  const save = async () => {
    setError(undefined)
    try {
      const reason = draft.reason.trim()
      const body = { operation: 'update' as const, group_id: group.group_id, group: names }
      await changeGroup({ ...body, ...(reason && { reason }) }, etag)
      toast({ title: `${names.name} saved` })
      onClose()
    } catch (e) {
      // Reads the stored version and shows it beside this one. Saving again overwrites it.
      if (isOvertaken(e)) await onReload()
      setError(e as ApiError)
    }
  }
  return (
    <Sheet
      title={`Rename ${group.name}`}
      isHeld={isChanged && 'typed'}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Saving…" onClick={save} offReason={offReason}>
            {isStale ? 'Overwrite with my changes' : 'Save group'}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (offReason === undefined) void save()
        }}
      >
        <GroupFields value={draft} onChange={(next) => setDraft({ ...draft, ...next })} error={error} />
        {names.name !== stored.name && <RenameNote group={group} />}
        <TextField
          label="Reason"
          help="Recorded in the audit log."
          value={draft.reason}
          onChange={(reason) => setDraft({ ...draft, reason })}
          maxLength={500}
          optional
        />
        {isStale && (
          <Overtaken
            noun="group"
            changes={differencesOf(stored, draft)}
            onTake={() => {
              setDraft({ ...stored, reason: draft.reason })
              setError(undefined)
            }}
          />
        )}
        {error && !isStale && !isShownAtField(error) && <ChangeProblem error={error} />}
        <button type="submit" hidden tabIndex={-1}>
          Save group
        </button>
      </form>
    </Sheet>
  )
}

const isShownAtField = ({ errors }: ApiError): boolean => errors?.some(({ field }) => /^group\./.test(field)) ?? false
const differencesOf = (theirs: GroupNames, mine: GroupNames) => [
  { field: 'Name', before: theirs.name, after: mine.name },
  { field: 'Description', before: theirs.description || '–', after: mine.description || '–' },
]

/** Says what a new name means for the policy. Published rules know the group by its id. */
function RenameNote({ group }: { group: GroupAnswer['body'] }) {
  const count = usePolicyUses().of?.(group).length ?? 0
  if (count === 0) return null
  return (
    <Note kind="warn" title="Published rules name this group.">
      They keep working. Drafts and the next version of the policy must use the new name.
    </Note>
  )
}
