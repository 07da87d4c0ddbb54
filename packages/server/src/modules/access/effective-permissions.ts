import type { Database } from '../../db/database.ts'
import type { Principal, TenantId } from '../../kernel/actor.ts'
import { findKey, findKeyOwner } from './api-keys.queries.ts'
import { isRole, permissionsOfRoles } from './roles.ts'
import type { RightsOf, StatusOf } from './verify-key.ts'

/** The credential that requested work which continues in the background. `tenant_id`: tenant of the credential. */
export type Credential = {
  kind: 'session' | 'api_key'
  tenant_id: TenantId
  id: string
  /** For a session its user, for a key its owner. */
  user_id: string | null
}
type Standing = Pick<Principal<'api_key'>, 'roles' | 'permissions' | 'standsFor'>

type Deps = { db: Database; now: () => Date; rightsOf: RightsOf; statusOf: StatusOf }

/**
 * Returns the current permissions of the requester of background work: of a user by roles, of an API key by the key.
 * The requester need not be signed in any more. Undefined if the user is deleted, suspended or locked, if the key is
 * revoked or expired, or if the credential's tenant is not active.
 */
export function createEffectivePermissions({ db, now, rightsOf, statusOf }: Deps) {
  async function ofUser(tenant: TenantId, userId: string): Promise<Standing | undefined> {
    const user = await db.inTenant(tenant, (tx) => findKeyOwner(tx, tenant, userId))
    if (user?.status !== 'active') return undefined
    const roles = user.roles.filter(isRole)
    return { roles, permissions: permissionsOfRoles(roles), standsFor: [userId] }
  }
  async function ofKey(tenant: TenantId, id: string): Promise<Standing | undefined> {
    const key = await db.inTenant(tenant, (tx) => findKey(tx, tenant, id, now()))
    if (!key || key.revoked_at || (key.expires_at && key.expires_at <= now())) return undefined
    return rightsOf(tenant, key)
  }

  return async ({ kind, tenant_id, id, user_id }: Credential, tenant: TenantId): Promise<Standing | undefined> => {
    if ((await statusOf(tenant_id)) !== 'active') return undefined
    const permissions = kind === 'api_key' ? await ofKey(tenant_id, id) : user_id && (await ofUser(tenant_id, user_id))
    if (!permissions) return undefined
    // Only a platform administrator may act in another tenant.
    return tenant === tenant_id || permissions.roles.includes('platform_admin') ? permissions : undefined
  }
}
