import { QueryClient } from '@tanstack/react-query'
import { ApiError, isTransient } from './api-error.ts'
import { changesAnswered, setOnSignedOut } from './client.ts'
import { limitUnused } from './limit-unused.ts'
import { goToSignIn } from './sign-in.ts'

/**
 * True if the server says that nobody is signed in. A change of the own password or factor, or a step-up, gives the
 * session a new id and cookie. A request that started with the old cookie is refused, so one refusal is retried.
 */
const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.code === 'unauthorized'

/**
 * Data stays fresh for 10 s, then it is read again where it is shown. The stream of changes invalidates it sooner
 * (`live.ts`). A transient failure is retried once, after the time that the server names.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
      // A hidden page sends no requests. It reads everything again once it is visible (`stream.ts`).
      refetchOnMount: () => !document.hidden,
      retry: (failures, error) => failures < 1 && (isTransient(error) || isSignedOut(error)),
      retryDelay: (_, error) => (isTransient(error) ? Math.min((error.retryAfterSeconds ?? 1) * 1000, 60_000) : 1000),
    },
  },
})
limitUnused(queryClient.getQueryCache(), 30)

let isAsking = false

/**
 * Leads to the sign-in if `me` is refused too. A 401 may have other causes: a wrong password or code, or a change that
 * has just replaced the cookie and whose response is on its way.
 */
async function leaveWhenSignedOut(): Promise<void> {
  if (isAsking) return
  isAsking = true
  await changesAnswered()
  const answer = await fetch('/v1/admin/me', { headers: { 'holdfast-background': '1' } }).catch(() => undefined)
  isAsking = false
  // An unread response keeps a connection of the browser busy.
  await answer?.text().catch(() => '')
  if (answer?.status === 401) goToSignIn()
}

setOnSignedOut(() => void leaveWhenSignedOut())
