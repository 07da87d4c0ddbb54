import { call, callWithEtag } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { Release, ReleaseDeed } from './words.ts'

const one = 'GET /v1/admin/updates/releases/{release_id}'

/** Reads again what shows releases. */
export const refreshReleases = () =>
  queryClient.invalidateQueries({ predicate: ({ queryKey: [route] }) => String(route).includes('/updates/') })

/**
 * Does one deed with a release as it was shown. A release that somebody else has changed meanwhile is left as it is.
 *
 * @throws {ApiError} with what the server has against it
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
    // What the question was about must still hold; the tag then guards the time from here on.
    const ifMatch = now.updated_at === release.updated_at ? etag : '"changed"'
    await withStepUp(() =>
      call('POST /v1/admin/updates/releases/{release_id}/lifecycle', { params, body }, { ifMatch }),
    )
  }
  await refreshReleases()
}
