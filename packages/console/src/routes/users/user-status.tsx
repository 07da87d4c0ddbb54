import { useSyncExternalStore } from 'react'
import { clockNow, subscribeToClock } from '../../ui/clock.ts'
import { Status } from '../../ui/status.tsx'
import { isLocked, type User } from './words.ts'

type Props = { user: Pick<User, 'status' | 'locked_until'> }

/** Status of a user. A lock after failed sign-ins has its remaining time. */
export function UserStatus({ user }: Props) {
  const now = useSyncExternalStore(subscribeToClock, clockNow)
  if (user.status === 'suspended') return <Status kind="off">Suspended</Status>
  if (isLocked(user, now)) return <Status kind="bad">Locked for {leftOf(user, now)}</Status>
  return <Status kind="ok">Active</Status>
}

/** Returns the remaining time of the lock, rounded up. */
function leftOf({ locked_until }: Props['user'], now: number): string {
  const minutes = Math.ceil((Date.parse(locked_until ?? '') - now) / 60_000)
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}
