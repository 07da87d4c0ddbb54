import { useMemo } from 'react'
import { useObjectKeys } from '../../ui/use-object-keys.ts'
import type { User } from '../users/words.ts'
import { askFor } from './user-actions.tsx'
import { type UserAction, useUserOff } from './user-off.ts'

type OffReason = ReturnType<typeof useUserOff>

/** Returns the keys on a user: `u` unlock, `p` password, `s` suspend or reactivate, `e` edit. All of them ask first. */
export function userKeys(
  userOf: (id: string) => User | undefined,
  off: OffReason,
): Readonly<Record<string, (id: string) => void>> {
  const on = (actionFor: (user: User) => UserAction) => (id: string) => {
    const user = userOf(id)
    if (user && off(actionFor(user), user) === undefined) askFor(actionFor(user), user)
  }
  return {
    u: on(() => 'unlock'),
    p: on(() => 'password'),
    s: on(({ status }) => (status === 'suspended' ? 'reactivate' : 'suspend')),
    e: on(() => 'edit'),
  }
}

/** Registers the keys of a user on its own page. */
export function useUserKeys(user: User | undefined): void {
  const off = useUserOff()
  useObjectKeys(
    useMemo(() => {
      const verbs = Object.entries(user ? userKeys(() => user, off) : {})
      return Object.fromEntries(verbs.map(([key, verb]) => [key, () => verb(user?.user_id ?? '')]))
    }, [user, off]),
  )
}
