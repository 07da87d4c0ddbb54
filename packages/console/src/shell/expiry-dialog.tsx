import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../api/client.ts'
import { forgetExpiry } from '../api/live.ts'
import { goToSignIn } from '../api/sign-in.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'

type Props = { at: string; cause: 'idle' | 'absolute' }

/** Counts down to the end of the session. What was typed stays in the page, and drafts in the browser's session storage. */
export function ExpiryDialog({ at, cause }: Props) {
  const seconds = useSecondsUntil(at)
  const queries = useQueryClient()
  const isOver = seconds <= 0
  // Another page may have prolonged it. Where it has ended, the answer leads to the sign-in.
  useEffect(() => {
    if (isOver) void queries.refetchQueries({ queryKey: ['GET /v1/admin/me'] }).then(forgetExpiry)
  }, [isOver, queries])
  // Pressing the button is activity of a person, so this request prolongs the session.
  const stay = async () => {
    await call('GET /v1/admin/me', {})
    forgetExpiry()
    await queries.invalidateQueries({ queryKey: ['GET /v1/admin/me'] })
  }
  const left = `${Math.floor(Math.max(seconds, 0) / 60)}:${String(Math.max(seconds, 0) % 60).padStart(2, '0')}`
  return (
    <Dialog
      title={`You are signed out in ${left}`}
      onClose={cause === 'idle' ? () => void stay() : forgetExpiry}
      footer={
        cause === 'idle' ? (
          <>
            <Button onClick={goToSignIn}>Sign out now</Button>
            <Button kind="primary" autoFocus busyLabel="Staying…" onClick={stay}>
              Stay signed in
            </Button>
          </>
        ) : (
          <Button kind="primary" autoFocus onClick={goToSignIn}>
            Sign in again
          </Button>
        )
      }
    >
      <p>
        {cause === 'idle'
          ? 'Nothing was done for a while. What you typed is kept.'
          : 'A session lasts only so long, whatever is done. What you typed is kept.'}
      </p>
    </Dialog>
  )
}

function useSecondsUntil(at: string): number {
  const secondsNow = () => Math.ceil((Date.parse(at) - Date.now()) / 1000)
  const [seconds, setSeconds] = useState(secondsNow)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the clock begins anew only for another end
  useEffect(() => {
    const timer = setInterval(() => setSeconds(secondsNow()), 1000)
    return () => clearInterval(timer)
  }, [at])
  return seconds
}
