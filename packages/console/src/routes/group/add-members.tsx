import { useState } from 'react'
import type { GroupRef } from '../../shell/overlay.ts'
import { quoted } from '../../table/command.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { TextField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { Sheet } from '../../ui/sheet.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { changeGroup } from './change-groups.ts'
import { useGroupOff } from './group-off.ts'
import { MembersField } from './members-field.tsx'

type Props = { group: GroupRef; onClose: () => void }
const empty = { members: [] as readonly ComboOption[], reason: '' }

/** Adds users to a group, in one request. Users that are members already stay. */
export function AddMembers({ group, onClose }: Props) {
  const [draft, setDraft] = useDraft(`add members ${group.group_id}`, empty)
  const [error, setError] = useState<Error>()
  const { members } = draft
  const offReason = useGroupOff()(group) ?? (members.length === 0 ? 'Choose a user first.' : undefined)
  const add = async () => {
    setError(undefined)
    try {
      const reason = draft.reason.trim()
      const fields = { add_members: members.map(({ id }) => id) }
      const body = { operation: 'update' as const, group_id: group.group_id, group: fields }
      const { changed } = await changeGroup({ ...body, ...(reason && { reason }) })
      const who = members.length === 1 ? (members[0]?.label ?? '') : formatCount(members.length, 'user')
      toast({ title: changed ? `${who} added to ${group.name}` : `${who}: already in ${group.name}` })
      onClose()
    } catch (e) {
      setError(e as Error)
    }
  }
  const command = `holdfast group add ${group.group_id} ${members.map(({ label }) => quoted(label)).join(' ')}`
  return (
    <Sheet
      title={`Add members to ${group.name}`}
      isHeld={members.length > 0 && 'typed'}
      onClose={onClose}
      footer={
        <>
          {members.length > 0 && <CopyButton kind="ghost" text={command} label="Copy as command" />}
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" busyLabel="Adding…" offReason={offReason} onClick={add}>
            {members.length > 1 ? `Add ${formatCount(members.length, 'member')}` : 'Add member'}
          </Button>
        </>
      }
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (offReason === undefined) void add()
        }}
      >
        <p>Rules that name the group apply to the devices of these users within seconds.</p>
        <MembersField value={members} onChange={(next) => setDraft({ ...draft, members: next })} />
        <TextField
          label="Reason"
          help="Recorded in the audit log."
          value={draft.reason}
          onChange={(reason) => setDraft({ ...draft, reason })}
          maxLength={500}
          optional
        />
        {error && <ChangeProblem error={error} />}
        <button type="submit" hidden tabIndex={-1}>
          Add member
        </button>
      </form>
    </Sheet>
  )
}
