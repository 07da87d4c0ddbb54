import { useState } from 'react'
import { messageOf } from '../../api/api-error.ts'
import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { ComboBox } from '../../ui/combo-box.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { TextField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { Part } from '../../ui/part.tsx'
import { toast } from '../../ui/toast.tsx'
import { searchGroups } from '../enrollment/pickers.tsx'
import { changeGroup } from '../group/change-groups.ts'
import { useGroupOff } from '../group/group-off.ts'
import { nameOf, type User } from '../users/words.ts'
import type { TabProps } from './tab.ts'

/** Groups of the user. A directory decides on its own groups, so they are off here. */
export function GroupsTab({ user, inPanel }: TabProps) {
  return (
    <Part title="Groups" inPanel={inPanel}>
      {user.group_ids.length === 0 ? (
        <p className="soft">The user is in no group. Policy rules can name groups.</p>
      ) : (
        <ul className="objects">
          {user.group_ids.map((id, i) => (
            <GroupLine key={id} user={user} id={id} name={user.group_names[i] ?? id} />
          ))}
        </ul>
      )}
      <AddToGroup user={user} />
    </Part>
  )
}

function GroupLine({ user, id, name }: { user: User; id: string; name: string }) {
  const can = useCan()
  const off = useGroupOff()
  const { data: group } = useApi(
    'GET /v1/admin/groups/{group_id}',
    { params: { group_id: id } },
    { enabled: can('groups:read') },
  )
  const isOwned = group?.source === 'directory'
  const offReason = off(group ?? { group_id: id, name })
  return (
    <li>
      <Icon name="people" size="s" />
      <AppLink className="rowlink" to={`/admin/groups/${id}`}>
        {name}
      </AppLink>
      {group && <span className="soft">{formatCount(group.member_count, 'member')}</span>}
      {isOwned && <Icon name="lock" size="s" />}
      <span className="push">
        <Button
          size="sm"
          kind="ghost"
          busyLabel="Removing…"
          offReason={offReason}
          onClick={() => move(user, { id, label: name }, 'remove')}
        >
          Remove <span className="vh">from {name}</span>
        </Button>
      </span>
    </li>
  )
}

function AddToGroup({ user }: { user: User }) {
  const off = useOffReason()
  const [count, setCount] = useState(0)
  const offReason = off('groups:write') ?? off('groups:read')
  if (offReason !== undefined)
    return <TextField label="Add to group" offReason={offReason} value="" onChange={() => undefined} />
  const add = async (group: ComboOption | undefined) => {
    if (!group) return
    await move(user, group, 'add')
    setCount((now) => now + 1)
  }
  // A new key empties the field after each choice.
  return (
    <ComboBox
      key={count}
      label="Add to group"
      placeholder="Name of a group"
      value={undefined}
      onChange={(group) => void add(group)}
      search={searchGroups}
    />
  )
}

/** Adds the user to a group or removes it, without a question: the opposite change undoes it. */
async function move(user: User, group: ComboOption, way: 'add' | 'remove'): Promise<void> {
  const members = way === 'add' ? { add_members: [user.user_id] } : { remove_members: [user.user_id] }
  try {
    await changeGroup({ operation: 'update', group_id: group.id, group: members })
    toast({ title: `${nameOf(user)} ${way === 'add' ? 'added to' : 'removed from'} ${group.label}` })
  } catch (e) {
    toast({ kind: 'bad', title: `The groups of ${nameOf(user)} were not changed`, text: messageOf(e) })
  }
}
