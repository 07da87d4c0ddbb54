import { type Answer, call, type InputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { expectUserChange, refreshUsers } from '../user/change-users.ts'

const route = 'POST /v1/admin/groups/lifecycle'
export type GroupAnswer = Answer<'GET /v1/admin/groups/{group_id}'>

/**
 * Creates, changes or deletes a group. Then reads all data again that includes groups or their members.
 *
 * @param ifMatch ETag of the group. A newer version on the server refuses the change
 * @throws {ApiError} if nothing was changed
 */
export async function changeGroup(body: InputOf<typeof route>['body'], ifMatch?: string) {
  expectUserChange()
  expectOwnChange('groups')
  const answer = await call(route, { body }, { ifMatch })
  await refreshUsers()
  return answer
}
