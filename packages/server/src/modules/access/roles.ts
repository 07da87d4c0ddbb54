import { type Permission, type Role, roles } from '@holdfast/contract/vocabulary'
import type { Actor } from '../../kernel/actor.ts'
import { permissionsOf } from '../../kernel/actor.ts'

export const isRole = (name: string): name is Role => Object.hasOwn(roles, name)

/** What these roles allow together. */
export const permissionsOfRoles = (held: readonly Role[]): ReadonlySet<Permission> =>
  new Set(held.flatMap((role): readonly Permission[] => roles[role]))

/** Whether the caller holds all that this role gives: nobody hands out, takes or touches more than that. */
export function mayHandle(actor: Actor, role: Role): boolean {
  // Its reach is every tenant, which no set of permissions says.
  if (role === 'platform_admin') return 'roles' in actor.principal && actor.principal.roles.includes('platform_admin')
  const held = permissionsOf(actor)
  return roles[role].every((permission) => held.has(permission))
}

/** What a key with this role may do, given what the user may do whom it belongs to: never more than both. */
export function boundedBy(
  role: Role,
  held: readonly Role[],
): { roles: readonly Role[]; permissions: ReadonlySet<Permission> } {
  const theirs = permissionsOfRoles(held)
  const permissions = new Set(roles[role].filter((permission) => theirs.has(permission)))
  // Its reach is every tenant, which no set of permissions says.
  const reaches = role !== 'platform_admin' || held.includes('platform_admin')
  return { roles: reaches ? [role] : [], permissions }
}

/** Whether these roles together give all that another one does. */
export const covers = (held: readonly Role[], role: Role): boolean => {
  const { roles: reach, permissions } = boundedBy(role, held)
  return reach.length > 0 && permissions.size === roles[role].length
}
