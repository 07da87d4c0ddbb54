import type { Permission, Role } from '@holdfast/contract/vocabulary'
import type { OutputOf } from '../../api/client.ts'
import { formatWord } from '../../ui/format.ts'

export type RoleRights = OutputOf<'GET /v1/admin/rbac/roles'>['items'][number]
/** Verbs of an area that each role has; an area is the first part of a permission. */
export type AreaRow = { area: string; verbs: readonly string[]; byRole: ReadonlyMap<Role, readonly string[]> }

const areaOf = (permission: Permission): string => permission.slice(0, permission.indexOf(':'))
const verbOf = (permission: Permission): string => permission.slice(permission.indexOf(':') + 1)
const ranks = ['read', 'write']
const rankOf = (verb: string): number => (ranks.includes(verb) ? ranks.indexOf(verb) : ranks.length)
const inOrder = (verbs: readonly string[]): string[] => verbs.toSorted((a, b) => rankOf(a) - rankOf(b))

/**
 * Returns the permissions of roles by area, areas in alphabetical order.
 *
 * @example areaRows([{ role: 'viewer', permissions: ['devices:read'] }])
 */
export function areaRows(roles: readonly RoleRights[]): AreaRow[] {
  const all = permissionsOf(roles)
  return [...new Set(all.map(areaOf))].map((area) => {
    const verbsIn = (permissions: readonly Permission[]) =>
      inOrder(permissions.filter((permission) => areaOf(permission) === area).map(verbOf))
    return {
      area,
      verbs: verbsIn(all),
      byRole: new Map(roles.map(({ role, permissions }) => [role, verbsIn(permissions)])),
    }
  })
}

/** All permissions that any role has, in alphabetical order. */
export const permissionsOf = (roles: readonly RoleRights[]): Permission[] =>
  [...new Set(roles.flatMap(({ permissions }) => permissions))].sort()

/** Roles that have a permission. */
export const rolesWith = (roles: readonly RoleRights[], permission: string): RoleRights[] =>
  roles.filter(({ permissions }) => (permissions as readonly string[]).includes(permission))

const abbreviations: Readonly<Record<string, string>> = { api_keys: 'API keys', rbac: 'RBAC', spc: 'SPC' }
/** @example areaWords('enrollment_tokens') // 'Enrollment tokens' */
export const areaWords = (area: string): string => abbreviations[area] ?? formatWord(area)
