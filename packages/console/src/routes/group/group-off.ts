import { useCallback } from 'react'
import { useOffReason } from '../../api/me.ts'
import type { GroupRef } from '../../shell/overlay.ts'

/**
 * Returns the reason why a group cannot be changed here: a missing permission, or a directory that decides on the group
 * and its members.
 */
export function useGroupOff(): (group: GroupRef) => string | undefined {
  const off = useOffReason()
  return useCallback(
    ({ source }) =>
      off('groups:write') ??
      (source === 'directory' ? 'The directory decides on this group. Change it there.' : undefined),
    [off],
  )
}
