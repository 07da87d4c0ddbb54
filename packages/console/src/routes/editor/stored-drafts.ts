import { callWithEtag } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'

/** Reads a draft together with its version, for an `If-Match`. */
export async function readDraft(draft_id: string, signal?: AbortSignal) {
  const { body, etag } = await callWithEtag(
    'GET /v1/admin/policy-drafts/{draft_id}',
    { params: { draft_id } },
    { signal },
  )
  return { draft: body, etag }
}

/** Deletes a draft if it has this version; undefined deletes any version. */
export async function deleteDraft(draft_id: string, etag: string | undefined): Promise<void> {
  await callWithEtag('DELETE /v1/admin/policy-drafts/{draft_id}', { params: { draft_id } }, { ifMatch: etag })
  await refreshDrafts()
}

/** Reads the shown drafts and their lists again. A text that is edited stays: its key has another first part. */
export const refreshDrafts = (): Promise<void> =>
  queryClient.invalidateQueries({
    predicate: ({ queryKey: [route] }) => String(route).startsWith('GET /v1/admin/policy-drafts'),
  })
