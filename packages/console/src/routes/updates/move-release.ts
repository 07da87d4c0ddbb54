import { call, callWithEtag } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { Release, ReleaseDeed } from './words.ts'

const one = 'GET /v1/admin/updates/releases/{release_id}'

/** Reads all data again that includes releases. */
export const refreshReleases = () =>
  queryClient.invalidateQueries({ predicate: ({ queryKey: [route] }) => String(route).includes('/updates/') })

/**
 * Runs an action on a release in its shown version. A release that another person has changed meanwhile stays
 * unchanged.
 *
 * @throws {ApiError} with the objection of the server
 */
export async function doDeed(
  release: Release,
  deed: ReleaseDeed,
  { percent, reason }: { percent: number | undefined; reason: string | undefined },
): Promise<void> {
  expectOwnChange('updates')
  const params = { release_id: release.release_id }
  if (deed === 'delete') await withStepUp(() => call('DELETE /v1/admin/updates/releases/{release_id}', { params }))
  else {
    const { body: now, etag } = await callWithEtag(one, { params })
    const rollout = percent === undefined ? undefined : { percent, group_ids: now.rollout.group_ids }
    const body = { operation: deed, ...(rollout && { rollout }), ...(reason !== undefined && { reason }) }
    // The release must be the version that the question was about. From here on the ETag guards it.
    const ifMatch = now.updated_at === release.updated_at ? etag : '"changed"'
    await withStepUp(() =>
      call('POST /v1/admin/updates/releases/{release_id}/lifecycle', { params, body }, { ifMatch }),
    )
  }
  await refreshReleases()
}
