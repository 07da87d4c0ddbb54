import { call, type InputOf, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'

const route = 'POST /v1/admin/policy/publish'
type Body = InputOf<typeof route>['body']

/**
 * Publishes a document, and reads the versions again. `previous_digest` names the shown version of the channel: if
 * another one is in force meanwhile, nothing is published.
 *
 * @throws {ApiError} with the objection of the server
 */
export async function publish(body: Body & { previous_digest: string | null }): Promise<OutputOf<typeof route>> {
  expectOwnChange('policy')
  const version = await withStepUp(() => call(route, { body }))
  await refreshPolicy()
  return version
}

/** Reads the versions and all that depends on them again. */
export const refreshPolicy = () =>
  queryClient.invalidateQueries({
    predicate: ({ queryKey: [name] }) => /\/admin\/(policy|dashboard\/overview|start)/.test(String(name)),
  })
