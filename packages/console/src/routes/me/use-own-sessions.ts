import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'

export type AdminSession = OutputOf<'GET /v1/admin/auth/sessions'>['items'][number]
export const sessionsRoute = 'GET /v1/admin/auth/sessions'

/** Returns the caller's sessions, and the kind of provider of the current one; undefined for a local sign-in. */
export function useOwnSessions() {
  const query = useApi(sessionsRoute, { query: { limit: 200 } })
  const method = query.data?.items.find((session) => session.current)?.auth_method
  const provider = method === undefined || method.startsWith('password') ? undefined : method
  return { query, provider }
}
export type OwnSessions = ReturnType<typeof useOwnSessions>
