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
