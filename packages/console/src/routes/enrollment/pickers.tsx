import { call } from '../../api/client.ts'
import { useOffReason } from '../../api/me.ts'
import { ComboBox } from '../../ui/combo-box.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { TextField } from '../../ui/fields.tsx'
import { ManyField } from '../../ui/many-field.tsx'

const most = 20

const searchPersons = (q: string, signal: AbortSignal) => searchUsers(q, signal, 'person')

/** Finds users, of one kind or of both. */
export async function searchUsers(q: string, signal: AbortSignal, kind?: 'person' | 'service'): Promise<ComboOption[]> {
  const query = { ...(q && { q }), limit: most, ...(kind && { kind }) }
  const { items } = await call('GET /v1/admin/users', { query }, { signal })
  return items.map((user) => ({ id: user.user_id, label: user.username, sub: user.display_name || undefined }))
}

export async function searchGroups(q: string, signal: AbortSignal): Promise<ComboOption[]> {
  const { items } = await call('GET /v1/admin/groups', { query: { ...(q && { q }), limit: most } }, { signal })
  return items.map((group) => ({ id: group.group_id, label: group.name }))
}

type UserProps = {
  value: ComboOption | undefined
  onChange: (user: ComboOption | undefined) => void
  error?: string | undefined
}

/** Chooses the owner of the devices of a token. */
export function UserPicker({ value, onChange, error }: UserProps) {
  const offReason = useOffReason()('users:read')
  const field = { label: 'User', optional: true, error } as const
  if (offReason !== undefined) return <TextField {...field} offReason={offReason} value="" onChange={() => undefined} />
  return (
    <ComboBox
      {...field}
      help="The devices belong to this person: policy rules for the person apply to them."
      placeholder="No user"
      value={value}
      onChange={onChange}
      search={searchPersons}
    />
  )
}

type GroupsProps = {
  label?: string
  value: readonly ComboOption[]
  onChange: (groups: readonly ComboOption[]) => void
  error?: string | undefined
}

/** Chooses the groups that the devices of a token, or a new user, join. */
export function GroupsPicker({ label = 'Groups the devices join', ...props }: GroupsProps) {
  const off = useOffReason()
  return <GroupsField {...props} label={label} offReason={off('groups:write') ?? off('groups:read')} />
}

type GroupsFieldProps = Omit<GroupsProps, 'label'> & { label: string; offReason: string | undefined }

/** Chooses several groups by typing. */
export const GroupsField = (props: GroupsFieldProps) => (
  <ManyField {...props} optional placeholder="Add a group" chosen="Chosen groups" search={searchGroups} />
)
