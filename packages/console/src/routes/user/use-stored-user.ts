import { useQuery } from '@tanstack/react-query'
import { callWithEtag } from '../../api/client.ts'

const route = 'GET /v1/admin/users/{user_id}'

/** Reads a user with its ETag, for a change of that version. */
export const useStoredUser = (user_id: string, { enabled = true } = {}) =>
  useQuery({
    queryKey: [route, 'edit', user_id],
    queryFn: () => callWithEtag(route, { params: { user_id } }),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
