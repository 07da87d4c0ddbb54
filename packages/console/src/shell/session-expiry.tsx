import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import type { Me } from '../api/boot.ts'
import { useExpiry } from '../api/live.ts'
import { useMe } from '../api/me.ts'

const ExpiryDialog = lazy(async () => ({ default: (await import('./expiry-dialog.tsx')).ExpiryDialog }))

/** Longest time between the warning and the end of the session. A short session warns after half of its idle time. */
const warnMs = 120_000
/** Longest delay of a browser timer. */
const longestMs = 2 ** 31 - 1

/** Shows the expiry dialog 2 minutes before the session ends. */
export function SessionExpiry() {
  const { session } = useMe()
  const told = useExpiry()
  const known = endOf(session)
  // The end of a session only moves forward: the later of two values is valid.
  const end = told && (!known || Date.parse(told.at) > Date.parse(known.at)) ? told : known
  const before = Math.min(warnMs, (session?.idle_seconds ?? 0) * 500)
  const isNear = useIsNear(end?.at, before)
  const [dismissed, setDismissed] = useState<string>()
  if (!end || !isNear || dismissed === end.at) return null
  return (
    <Suspense>
      <ExpiryDialog at={end.at} cause={end.cause} onDismiss={() => setDismissed(end.at)} />
    </Suspense>
  )
}

function endOf(session: Me['session']): { at: string; cause: 'idle' | 'absolute' } | undefined {
  if (!session) return undefined
  const { idle_expires_at, expires_at } = session
  return Date.parse(idle_expires_at) < Date.parse(expires_at)
    ? { at: idle_expires_at, cause: 'idle' }
    : { at: expires_at, cause: 'absolute' }
}

/** True once a time is near. First reads the session again, since another request may have extended it. */
function useIsNear(at: string | undefined, beforeMs: number): boolean {
  const queries = useQueryClient()
  const [near, setNear] = useState<string>()
  useEffect(() => {
    if (at === undefined) return
    const wait = Date.parse(at) - beforeMs - Date.now()
    const timer = setTimeout(
      async () => {
        await queries.refetchQueries({ queryKey: ['GET /v1/admin/me'] })
        setNear(at)
      },
      Math.min(Math.max(wait, 0), longestMs),
    )
    return () => clearTimeout(timer)
  }, [at, beforeMs, queries])
  return at !== undefined && near === at
}
