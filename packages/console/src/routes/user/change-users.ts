import { type Answer, call, type Route } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import type { UserDeed, UserRef } from '../../shell/overlay.ts'

/** `ended`: number of sessions that ended. */
type Changed = { changed: boolean; ended: number; warnings: readonly { message: string }[] }
type How = {
  reason?: string | undefined
  /** ETag of the user. A newer version on the server refuses the change. */
  ifMatch?: string | undefined
  /** True if the caller may list and end sign-ins of others. */
  canEndSignIns: boolean
}
const perRequest = 200

/**
 * Changes one user. The API has no batch operation for users.
 *
 * @throws {ApiError} if nothing was changed
 */
export async function changeUser(deed: UserDeed, user: UserRef, how: How): Promise<Changed> {
  expectUserChange()
  return withStepUp(() => changes[deed](user, how))
}

/** Announces a change of users by this page, and of what depends on them. */
export function expectUserChange(): void {
  for (const kind of ['users', 'devices', 'sessions'] as const) expectOwnChange(kind)
}

const bodyOf = ({ user_id }: UserRef, { reason }: How) => ({ user_id, ...(reason !== undefined && { reason }) })

const move =
  (operation: 'suspend' | 'reactivate' | 'unlock') =>
  async (user: UserRef, how: How): Promise<Changed> => {
    const route = `POST /v1/admin/users/${operation}` as const
    const answer = await call(route, { body: bodyOf(user, how) }, { ifMatch: how.ifMatch })
    return { changed: answer.changed, ended: answer.sessions_terminated ?? 0, warnings: answer.warnings }
  }

const changes: Readonly<Record<UserDeed, (user: UserRef, how: How) => Promise<Changed>>> = {
  suspend: move('suspend'),
  reactivate: move('reactivate'),
  unlock: move('unlock'),
  delete: async (user, how) => {
    const body = { operation: 'delete' as const, ...bodyOf(user, how) }
    const answer = await call('POST /v1/admin/users/lifecycle', { body }, { ifMatch: how.ifMatch })
    return { changed: answer.changed, ended: answer.sessions_terminated ?? 0, warnings: answer.warnings }
  },
  disable_factor: async (user, how) => {
    const answer = await call('POST /v1/admin/users/totp/disable', { body: bodyOf(user, how) })
    return { changed: answer.changed, ended: answer.sessions_terminated, warnings: [] }
  },
  end_sessions: endSessionsOf,
}

/** Ends the VPN sessions in one request. Sign-ins have no such request, so each one is ended. */
async function endSessionsOf({ user_id }: UserRef, { reason, canEndSignIns }: How): Promise<Changed> {
  const why = reason === undefined ? {} : { reason }
  const body = { operation: 'terminate' as const, filter: { user_id }, ...why }
  let ended = (await call('POST /v1/admin/sessions', { body })).terminated
  if (canEndSignIns) {
    const { items } = await call('GET /v1/admin/auth/sessions', { query: { user_id, limit: perRequest } })
    for (const { session_id, current } of items) {
      if (current) continue
      const params = { session_id }
      if ((await call('POST /v1/admin/auth/sessions/{session_id}/end', { params, body: why })).changed) ended++
    }
  }
  return { changed: ended > 0, ended, warnings: [] }
}

/** Routes whose data includes users, or what a change of a user ends. */
const dependent =
  /\/v1\/(admin\/(users|auth|sessions|devices|dashboard|rbac|groups|locks|api-keys|search)|audit\/events)/

/** Reads all data again that includes users. */
export const refreshUsers = (): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey: [route] }) => dependent.test(String(route)) })

/** Sentences of the warnings of an answer; undefined if there are none. */
export const warningText = (warnings: readonly { message: string }[]): string | undefined =>
  warnings.length === 0 ? undefined : warnings.map(({ message }) => message).join(' ')

export type UserAnswer = Answer<Extract<Route, 'GET /v1/admin/users/{user_id}'>>
