import { useEffect } from 'react'
import { isTyping } from '../../ui/is-typing.ts'
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
  useEffect(() => {
    if (!user) return
    const verbs = userKeys(() => user, off)
    const onKey = (event: KeyboardEvent) => {
      const isOurs = !event.defaultPrevented && !event.altKey && !event.ctrlKey && !event.metaKey && !isTyping(event)
      const verb = isOurs && !document.querySelector('dialog[open]') ? verbs[event.key] : undefined
      if (!verb) return
      event.preventDefault()
      verb(user.user_id)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [user, off])
}
