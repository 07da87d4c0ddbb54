import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'
import { changesAnswered, setOnSignedOut } from './client.ts'
import { limitUnused } from './limit-unused.ts'
import { goToSignIn } from './sign-in.ts'

const isTransient = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

/**
 * A change of the own password or factor, or a step-up, gives the session a new id and cookie. A request that began
 * with the old cookie is refused; the same one with the new cookie is not. So one refusal is tried again.
 */
const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.code === 'unauthorized'

/**
 * What is read stays fresh for 10 s; then it is read again where it is shown. The stream of changes marks it stale
 * sooner (`live.ts`). A failure that may pass is tried once more, after the time that the server names.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 1 && (isTransient(error) || isSignedOut(error)),
      retryDelay: (_, error) => (isTransient(error) ? Math.min((error.retryAfterSeconds ?? 1) * 1000, 60_000) : 1000),
    },
  },
})
limitUnused(queryClient.getQueryCache(), 30)

let isAsking = false

/**
 * A 401 may also say that a password or a code was wrong, or that a change has just ended the old cookie and its answer
 * with the new one is on its way. Only a refusal of `me` after that means that nobody is signed in.
 */
async function leaveWhenSignedOut(): Promise<void> {
  if (isAsking) return
  isAsking = true
  await changesAnswered()
  const answer = await fetch('/v1/admin/me', { headers: { 'holdfast-background': '1' } }).catch(() => undefined)
  isAsking = false
  // An answer that is not read keeps a connection of the browser busy.
  await answer?.text().catch(() => '')
  if (answer?.status === 401) goToSignIn()
}

setOnSignedOut(() => void leaveWhenSignedOut())
