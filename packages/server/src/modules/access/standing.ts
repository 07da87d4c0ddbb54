import type { Database } from '../../db/database.ts'
import type { Principal, TenantId } from '../../kernel/actor.ts'
import { findKey, findOwner } from './api-keys.queries.ts'
import { isRole, permissionsOfRoles } from './roles.ts'
import type { RightsOf, StatusOf } from './verify-key.ts'

/** By what somebody once asked for work that goes on without them. `tenant_id` is where it was issued. */
export type Credential = {
  kind: 'session' | 'api_key'
  tenant_id: TenantId
  id: string
  /** Of a session whose it is, of a key who owns it. */
  user_id: string | null
}
type Standing = Pick<Principal<'api_key'>, 'roles' | 'permissions' | 'standsFor'>

type Deps = { db: Database; now: () => Date; rightsOf: RightsOf; statusOf: StatusOf }

/**
 * What whoever asked may do now, who need not be there any more: a user by their roles, an API key by what it could do.
 * Undefined for a user who is gone, suspended or locked, for a key that is good no more, and where the tenant of either
 * is not open.
 */
export function createStanding({ db, now, rightsOf, statusOf }: Deps) {
  async function ofUser(tenant: TenantId, userId: string): Promise<Standing | undefined> {
    const user = await db.inTenant(tenant, (tx) => findOwner(tx, tenant, userId))
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
    const standing = kind === 'api_key' ? await ofKey(tenant_id, id) : user_id && (await ofUser(tenant_id, user_id))
    if (!standing) return undefined
    // Only a platform administrator reaches into another tenant.
    return tenant === tenant_id || standing.roles.includes('platform_admin') ? standing : undefined
  }
}
