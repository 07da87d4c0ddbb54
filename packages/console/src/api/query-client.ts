import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'
import { setOnSignedOut } from './client.ts'
import { goToSignIn } from './sign-in.ts'

const isTransient = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

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
      retry: (failures, error) => failures < 1 && isTransient(error),
      retryDelay: (_, error) => (isTransient(error) ? Math.min((error.retryAfterSeconds ?? 1) * 1000, 60_000) : 1000),
    },
  },
})

setOnSignedOut(goToSignIn)
