import type { WarningCode } from '@holdfast/contract/schema'
import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { defaultTenant } from '../../tenancy/index.ts'
import * as queries from './administrators.queries.ts'

/**
 * Roles that must have an active holder: one who administers the tenant, and for the deployment one who administers
 * tenants.
 */
export const indispensable: readonly string[] = ['platform_admin', 'tenant_admin']

/** A warning in the answer of a change. */
export type Warning = { code: WarningCode; message: string }
/** Returns the warnings for an audit event. */
export const warned = (warnings: readonly Warning[]) =>
  warnings.length === 0 ? {} : { warnings: warnings.map((w) => w.code) }

/** True if a user with these roles may be the last holder of a required one. */
export const mayBeLast = (roles: readonly string[]): boolean => roles.some((role) => indispensable.includes(role))

/**
 * True for platform administrators. They may stop anybody; the rule about the last administrator binds only those of
 * the tenant.
 */
export const isOfPlatform = ({ principal }: Actor): boolean =>
  'roles' in principal && principal.roles.includes('platform_admin')

/**
 * First lock of every change that may remove an administrator. Of two concurrent removals the second waits here, and is
 * judged after the first.
 */
export const holdAdministrators = (tx: Tx, tenant: TenantId) => queries.lockAdministrators(tx, tenant)

/** Returns those of the roles in which only this user could act. */
async function allLastHeld(tx: Tx, tenant: TenantId, user: { user_id: string }, roles: readonly string[]) {
  if (!mayBeLast(roles)) return []
  const administratorRoles = roles.filter((role) => indispensable.includes(role))
  const holders = await queries.selectHolders(tx, tenant, administratorRoles)
  return administratorRoles.filter((role) => {
    const active = holders.filter((h) => h.role === role)
    return active.length === 1 && active[0]?.user_id === user.user_id
  })
}

/** Returns the first of these roles in which only this user could act. Call it only after `holdAdministrators`. */
export const lastHeld = async (
  tx: Tx,
  tenant: TenantId,
  user: { user_id: string },
  roles: readonly string[],
): Promise<string | undefined> => (await allLastHeld(tx, tenant, user, roles))[0]

/**
 * 422 if the user would be the last of a role. A platform administrator gets a warning instead. The last platform
 * administrator of the deployment always stays.
 */
export async function requireAnother(
  tx: Tx,
  actor: Actor,
  user: { user_id: string; username: string },
  roles: readonly string[],
): Promise<Warning[]> {
  const { tenantId: tenant } = actor
  const [last] = await allLastHeld(tx, tenant, user, roles)
  if (last === undefined) return []
  const only = `${user.username} is the last active ${last}`
  if (!isOfPlatform(actor)) fail('validation_error', `${only}; grant that role to another user first`)
  const name = await queries.nameOfTenant(tx, tenant)
  if (last === 'platform_admin' && name === defaultTenant)
    fail(
      'validation_error',
      `${only}; grant that role to another user first, or start the server once with HOLDFAST_BREAK_GLASS_PASSWORD, ` +
        'which creates the platform_admin break-glass, and make the change as that user',
    )
  if (await hasAdministrator(tx, tenant, user, roles)) return []
  const command = `holdfast --tenant ${name}`
  return [
    {
      code: 'tenant_without_administrator',
      message:
        `After this change, the tenant ${name} has no active administrator. To create one: ${command} user create NAME, ` +
        `then ${command} role grant NAME tenant_admin, then ${command} user password NAME --generate`,
    },
  ]
}

/** True if somebody can administer the tenant without these roles of the user. */
async function hasAdministrator(tx: Tx, tenant: TenantId, user: { user_id: string }, without: readonly string[]) {
  const holders = await queries.selectHolders(tx, tenant, indispensable)
  return holders.some((h) => h.user_id !== user.user_id || !without.includes(h.role))
}
