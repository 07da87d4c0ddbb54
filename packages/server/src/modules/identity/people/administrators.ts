import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import * as queries from './administrators.queries.ts'

/** A tenant must keep somebody who can administer it, the deployment somebody who can administer tenants. */
export const indispensable: readonly string[] = ['platform_admin', 'tenant_admin']

/** Whether a user with these roles may be the last who has one that a tenant can't be without. */
export const mayBeLast = (roles: readonly string[]): boolean => roles.some((role) => indispensable.includes(role))

/**
 * Comes first in whatever may take an administrator away, before anything is read: of two removals at once the second
 * waits here, and judges by what the first has left.
 */
export const holdAdministrators = (tx: Tx, tenant: TenantId) => queries.lockTenant(tx, tenant)

/** The first of these roles in which nobody but the user could act. Only after `holdAdministrators`. */
export async function lastHeld(
  tx: Tx,
  tenant: TenantId,
  user: { user_id: string },
  roles: readonly string[],
): Promise<string | undefined> {
  if (!mayBeLast(roles)) return undefined
  const held = roles.filter((role) => indispensable.includes(role))
  const holders = await queries.selectHolders(tx, tenant, held)
  return held.find((role) => {
    const active = holders.filter((h) => h.role === role)
    return active.length === 1 && active[0]?.user_id === user.user_id
  })
}

/** 422 if there is one. */
export async function refuseLast(
  tx: Tx,
  tenant: TenantId,
  user: { user_id: string; username: string },
  roles: readonly string[],
): Promise<void> {
  const last = await lastHeld(tx, tenant, user, roles)
  if (last)
    fail('validation_error', `${user.username} is the last active ${last}; give that role to someone else first`)
}
