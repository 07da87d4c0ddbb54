import { type Role, roles } from '@holdfast/contract/vocabulary'

/** True if a role has a permission. */
export const hasPermission = (role: Role, permission: string): boolean =>
  (roles[role] as readonly string[]).includes(permission)
