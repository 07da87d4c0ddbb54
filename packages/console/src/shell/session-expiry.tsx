import { lazy, Suspense } from 'react'
import { useExpiry } from '../api/live.ts'

const ExpiryDialog = lazy(async () => ({ default: (await import('./expiry-dialog.tsx')).ExpiryDialog }))

/** Asks whether the session is to go on, two minutes before it ends. */
export function SessionExpiry() {
  const expiry = useExpiry()
  if (!expiry) return null
  return (
    <Suspense>
      <ExpiryDialog at={expiry.at} cause={expiry.cause} />
    </Suspense>
  )
}
