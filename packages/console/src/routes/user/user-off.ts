import type { Role } from '@holdfast/contract/vocabulary'
import { useCallback, useMemo } from 'react'
import { useCan, useMe, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import type { UserRef } from '../../shell/overlay.ts'
import { isLocked, roleWords } from '../users/words.ts'

/** Action on a user that may be off. */
export type UserAction =
  | ('suspend' | 'reactivate' | 'unlock' | 'end_sessions' | 'disable_factor' | 'delete')
  | ('edit' | 'password' | 'enroll_factor' | 'compromised' | 'grant_role')
type OffReason = (action: UserAction, user: UserRef) => string | undefined

const permissions = {
  suspend: 'users:write',
  reactivate: 'users:write',
  edit: 'users:write',
  delete: 'users:write',
  unlock: 'credentials:write',
  password: 'credentials:write',
  enroll_factor: 'credentials:write',
  disable_factor: 'credentials:write',
  end_sessions: 'sessions:terminate',
  grant_role: 'rbac:write',
  compromised: 'incidents:run',
} as const satisfies Record<UserAction, string>
/** Actions that nobody may do to the own account: the server refuses them, or My account has them. */
const ownElsewhere: ReadonlySet<UserAction> = new Set(['password', 'enroll_factor', 'disable_factor'])
const ownNever: ReadonlySet<UserAction> = new Set(['reactivate', 'unlock', 'compromised'])

/**
 * Returns the reason why an action on a user is off, by the rules of the server: a missing permission, a user with more
 * permissions than the caller, the own account, or an account without this kind of credential.
 */
export function useUserOff(): OffReason {
  const off = useOffReason()
  const mayHandle = useMayHandle()
  const ownId = useMe().user?.user_id
  return useCallback(
    (action, user) => {
      const beyond = action === 'end_sessions' ? undefined : user.roles?.find((role) => !mayHandle(role))
      return (
        off(permissions[action]) ??
        (user.user_id === ownId ? ownReason(action) : undefined) ??
        (beyond && `The role ${roleWords(beyond)} allows more than you may do.`) ??
        credentialReason(action, user) ??
        stateReason(action, user)
      )
    },
    [off, mayHandle, ownId],
  )
}

/**
 * Returns a function that checks whether the caller has all permissions of a role. A caller who may not read the roles
 * has only roles without that permission, so only these are theirs.
 */
export function useMayHandle(): (role: Role) => boolean {
  const { roles, permissions } = useMe()
  const canRead = useCan()('rbac:read')
  const { data } = useApi('GET /v1/admin/rbac/roles', {}, { enabled: canRead })
  return useMemo(() => {
    const held = new Set(permissions)
    const known = new Map(data?.items.map((item) => [item.role, item.permissions]))
    return (role) => {
      // This role also reaches all tenants, which the permissions do not express.
      if (role === 'platform_admin' || !canRead) return roles.includes(role)
      return known.get(role)?.every((permission) => held.has(permission)) ?? true
    }
  }, [roles, permissions, canRead, data])
}

function ownReason(action: UserAction): string | undefined {
  if (ownElsewhere.has(action)) return 'This is your own account. My account has this change.'
  return ownNever.has(action) ? 'This is your own account. Another administrator must do this.' : undefined
}

function credentialReason(action: UserAction, { kind, source }: UserRef): string | undefined {
  if (!ownElsewhere.has(action)) return undefined
  if (kind === 'service') return 'A service account cannot sign in.'
  if (action !== 'password' || source === undefined || source === 'local') return undefined
  return source === 'directory'
    ? 'The directory keeps the password of this user. Change it there.'
    : 'The identity provider keeps the password of this user. Change it there.'
}

function stateReason(action: UserAction, user: UserRef): string | undefined {
  const { status, mfa } = user
  if (action === 'unlock' && user.locked_until !== undefined && !isLocked(user)) return 'The user is not locked.'
  if (action === 'suspend' && status === 'suspended') return 'The user is suspended already.'
  if (action === 'reactivate' && status === 'active') return 'The user is active.'
  if (action === 'disable_factor' && mfa?.enabled === false) return 'The user has no second factor.'
  return action === 'enroll_factor' && mfa?.enabled === true ? 'The user has a second factor already.' : undefined
}
