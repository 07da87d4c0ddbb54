import { type Permission, type Role, roles } from '@holdfast/contract/vocabulary'
import { type Actor, permissionsOf } from '../../kernel/actor.ts'

export const isRole = (name: string): name is Role => Object.hasOwn(roles, name)

/** Union of the permissions of these roles. */
export const permissionsOfRoles = (held: readonly Role[]): ReadonlySet<Permission> =>
  new Set(held.flatMap((role): readonly Permission[] => roles[role]))

/**
 * Checks that the caller holds all permissions of the role. Nobody may grant, revoke or manage a role that allows more
 * than their own.
 */
export function mayHandle(actor: Actor, role: Role): boolean {
  // This role also reaches all tenants, which the permissions do not express.
  if (role === 'platform_admin') return 'roles' in actor.principal && actor.principal.roles.includes('platform_admin')
  const held = permissionsOf(actor)
  return roles[role].every((permission) => held.has(permission))
}

/** Effective role and permissions of a key: the intersection of its role with the roles of its owner. */
export function boundedBy(
  role: Role,
  held: readonly Role[],
): { roles: readonly Role[]; permissions: ReadonlySet<Permission> } {
  const targetPermissions = permissionsOfRoles(held)
  const permissions = new Set(roles[role].filter((permission) => targetPermissions.has(permission)))
  // This role also reaches all tenants, which the permissions do not express.
  const reaches = role !== 'platform_admin' || held.includes('platform_admin')
  return { roles: reaches ? [role] : [], permissions }
}

/** Checks that these roles together give everything that `role` gives. */
export const covers = (held: readonly Role[], role: Role): boolean => {
  const { roles: reach, permissions } = boundedBy(role, held)
  return reach.length > 0 && permissions.size === roles[role].length
}
