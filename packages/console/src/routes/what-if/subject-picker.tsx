import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { ComboBox } from '../../ui/combo-box.tsx'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { useStable } from '../../ui/use-stable.ts'
import type { Question } from './question.ts'

const most = 8
type Subject = NonNullable<Question['subject']>

type Props = {
  value: Question['subject']
  onChange: (subject: Question['subject']) => void
  error?: string | undefined
}

/** Chooses a device or a user by a part of the name. */
export function SubjectPicker({ value, onChange, error }: Props) {
  const can = useCan()
  const [chosen, setChosen] = useState<ComboOption>()
  const found = useLabel(value)
  const label = value && chosen?.id === idOf(value) ? chosen.label : found
  const search = useStable(async (q: string, signal: AbortSignal): Promise<ComboOption[]> => {
    const [devices, users] = await Promise.all([
      can('devices:read') ? searchDevices(q, signal) : [],
      can('users:read') ? searchUsers(q, signal) : [],
    ])
    return [...devices, ...users]
  })
  return (
    <ComboBox
      label="Can this device or user"
      placeholder="Name of a device or user"
      error={error}
      value={value && label !== undefined ? { id: idOf(value), label } : undefined}
      onChange={(option) => {
        setChosen(option)
        onChange(option && subjectOf(option.id))
      }}
      search={search}
    />
  )
}

const idOf = ({ kind, id }: Subject) => `${kind} ${id}`
function subjectOf(id: string): Subject {
  const [kind = '', own = ''] = id.split(' ')
  return { kind: kind === 'user' ? 'user' : 'device', id: own }
}

async function searchDevices(q: string, signal: AbortSignal): Promise<ComboOption[]> {
  const query = { ...(q && { q }), limit: most }
  const { items } = await call('GET /v1/admin/devices', { query }, { signal })
  return items.map(({ device_id: id, name, user_name }) => ({
    id: idOf({ kind: 'device', id }),
    label: name,
    sub: user_name ? `device of ${user_name}` : 'device',
  }))
}

async function searchUsers(q: string, signal: AbortSignal): Promise<ComboOption[]> {
  const { items } = await call('GET /v1/admin/users', { query: { ...(q && { q }), limit: most } }, { signal })
  return items.map(({ user_id: id, username }) => ({ id: idOf({ kind: 'user', id }), label: username, sub: 'user' }))
}

/** Name of the subject in the address. */
function useLabel(subject: Question['subject']): string | undefined {
  const { kind, id = '' } = subject ?? {}
  const device = useApi(
    'GET /v1/admin/devices/{device_id}',
    { params: { device_id: id } },
    { enabled: kind === 'device' },
  )
  const user = useApi('GET /v1/admin/users/{user_id}', { params: { user_id: id } }, { enabled: kind === 'user' })
  if (kind === 'device') return device.data?.name ?? (device.error ? id : undefined)
  return kind === 'user' ? (user.data?.username ?? (user.error ? id : undefined)) : undefined
}
