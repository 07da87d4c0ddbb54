import { useQuery } from '@tanstack/react-query'
import { callWithEtag } from '../../api/client.ts'

const route = 'GET /v1/admin/groups/{group_id}'

/** Reads a group with its ETag, for a change of that version. */
export const useStoredGroup = (group_id: string) =>
  useQuery({
    queryKey: [route, 'edit', group_id],
    queryFn: () => callWithEtag(route, { params: { group_id } }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
