import { call, callWithEtag } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { inReadingOrder, textOf } from '../../policy/text.ts'
import { withTest } from './changes.ts'

const one = 'GET /v1/admin/policy-drafts/{draft_id}'
/**
 * Adds a test to the newest draft of the caller, or to a new draft with the document of stable. Returns the draft.
 *
 * @throws {Error} if the draft is not valid JSON, and with the objection of the server
 */
export async function pinTest(test: { name: string }): Promise<{ draft_id: string; name: string }> {
  expectOwnChange('policy_drafts')
  const { items } = await call('GET /v1/admin/policy-drafts', { query: { created_by: 'me', limit: 1 } })
  const newest = items[0]
  if (!newest) return createWith(test)
  const params = { draft_id: newest.draft_id }
  const { body: draft, etag } = await callWithEtag(one, { params })
  const body = { name: draft.name, text: withTest(draft.text, test), base: draft.base }
  return call('PUT /v1/admin/policy-drafts/{draft_id}', { params, body }, { ifMatch: etag })
}

async function createWith(test: { name: string }) {
  const { items } = await call('GET /v1/admin/policy', { query: { channel: 'stable', limit: 1 } })
  const { bundle_id = '', version } = items[0] ?? {}
  const { policy } = await call('GET /v1/admin/policy/{bundle_id}', { params: { bundle_id } })
  const text = withTest(`${textOf(inReadingOrder(policy))}\n`, test)
  return call('POST /v1/admin/policy-drafts', { body: { name: `Change of v${version}`, text, base: { bundle_id } } })
}
