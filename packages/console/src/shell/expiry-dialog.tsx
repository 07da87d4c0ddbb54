import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import { forgetExpiry } from '../api/live.ts'
import { goToSignIn } from '../api/sign-in.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { signOutOrSay } from './sign-out.ts'

type Props = { at: string; cause: 'idle' | 'absolute'; onDismiss: () => void }

/** Counts down to the end of the session. Open forms are stored as drafts when the page leaves for the sign-in. */
export function ExpiryDialog({ at, cause, onDismiss }: Props) {
  const seconds = useSecondsUntil(at)
  const queries = useQueryClient()
  const isOver = seconds <= 0
  // Another page may have extended the session. If the session has ended, the 401 leads to the sign-in.
  useEffect(() => {
    if (isOver) void queries.refetchQueries({ queryKey: ['GET /v1/admin/me'] }).then(forgetExpiry)
  }, [isOver, queries])
  // The request of a person extends the session.
  const stay = async () => {
    await call('GET /v1/admin/me', {})
    forgetExpiry()
    await queries.invalidateQueries({ queryKey: ['GET /v1/admin/me'] })
  }
  const left = `${Math.floor(Math.max(seconds, 0) / 60)}:${String(Math.max(seconds, 0) % 60).padStart(2, '0')}`
  return (
    <Dialog
      title={`You are signed out in ${left}`}
      onClose={cause === 'idle' ? () => void stay().catch(() => undefined) : onDismiss}
      footer={
        cause === 'idle' ? (
          <>
            <Button busyLabel="Signing out…" onClick={signOutOrSay}>
              Sign out now
            </Button>
            <Button kind="primary" autoFocus busyLabel="Staying…" onClick={stay}>
              Stay signed in
            </Button>
          </>
        ) : (
          <>
            <Button onClick={onDismiss}>Keep working</Button>
            <Button kind="primary" autoFocus onClick={goToSignIn}>
              Sign in again
            </Button>
          </>
        )
      }
    >
      <p>
        {cause === 'idle'
          ? 'You were idle for a while. After a new sign-in, this page opens again.'
          : 'A session ends after a fixed time, even while you use it. After a new sign-in, this page opens again.'}
      </p>
      <p className="soft">
        A token form, a device form and a typed reason are restored. Passwords and other fields are not.
      </p>
    </Dialog>
  )
}

const secondsUntil = (at: string) => Math.ceil((Date.parse(at) - Date.now()) / 1000)

function useSecondsUntil(at: string): number {
  const [seconds, setSeconds] = useState(() => secondsUntil(at))
  useEffect(() => {
    setSeconds(secondsUntil(at))
    const timer = setInterval(() => setSeconds(secondsUntil(at)), 1000)
    return () => clearInterval(timer)
  }, [at])
  return seconds
}
