import { useMemo } from 'react'
import type { GroupAction } from '../../shell/overlay.ts'
import { useObjectKeys } from '../../ui/use-object-keys.ts'
import type { Group } from '../groups/words.ts'
import { askFor } from './group-actions.tsx'
import { useGroupOff } from './group-off.ts'

const actions: Readonly<Record<string, GroupAction>> = { a: 'add_members', e: 'edit' }

/** Returns the keys on a group: `a` add members, `e` rename. */
export const groupKeys = (
  groupOf: (id: string) => Group | undefined,
  off: ReturnType<typeof useGroupOff>,
): Readonly<Record<string, (id: string) => void>> =>
  Object.fromEntries(
    Object.entries(actions).map(([key, action]) => [
      key,
      (id: string) => {
        const group = groupOf(id)
        if (group && off(group) === undefined) askFor(action, group)
      },
    ]),
  )

/** Registers the keys of a group on its own page. */
export function useGroupKeys(group: Group | undefined): void {
  const off = useGroupOff()
  useObjectKeys(
    useMemo(() => {
      const verbs = Object.entries(group ? groupKeys(() => group, off) : {})
      return Object.fromEntries(verbs.map(([key, verb]) => [key, () => verb(group?.group_id ?? '')]))
    }, [group, off]),
  )
}
