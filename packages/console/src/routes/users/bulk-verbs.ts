import { useMemo } from 'react'
import { useOffReason } from '../../api/me.ts'
import type { BulkVerb } from '../../table/spec.ts'

/** Returns the actions on selected users. The server checks each user again. */
export function useBulkVerbs(): readonly BulkVerb[] {
  const off = useOffReason()
  return useMemo(
    () => [
      { id: 'unlock', label: 'Unlock', offReason: off('credentials:write') },
      { id: 'end_sessions', label: 'End sessions', offReason: off('sessions:terminate') },
      { id: 'reactivate', label: 'Reactivate', offReason: off('users:write') },
      { id: 'suspend', label: 'Suspend', danger: true, offReason: off('users:write') },
    ],
    [off],
  )
}
