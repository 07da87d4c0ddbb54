import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import type { Running } from './deed-words.ts'

const most = 200

/** Returns the numbers of running sessions of a user. Undefined if unknown, forbidden or more than 200. */
export function useRunning(user_id: string | undefined): Running {
  const can = useCan()
  const of = { user_id: user_id ?? '', limit: most }
  const vpn = useApi(
    'GET /v1/admin/sessions',
    { query: { ...of, state: 'active' } },
    { enabled: user_id !== undefined && can('sessions:read') },
  ).data
  const signIns = useApi(
    'GET /v1/admin/auth/sessions',
    { query: of },
    { enabled: user_id !== undefined && can('credentials:read') && can('credentials:write') },
  ).data
  return { vpn: countOf(vpn), signIns: countOf(signIns) }
}

const countOf = (page: { items: readonly unknown[]; next_cursor: string | null } | undefined) =>
  page?.next_cursor === null ? page.items.length : undefined
