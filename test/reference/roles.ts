import { type Endpoint, operations } from '@holdfast/contract'
import { entryPermissions } from '@holdfast/contract/endpoint'
import { type Permission, permissions, type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import { code, page, table } from './markdown.ts'

const purposes: Readonly<Record<Role, string>> = {
  platform_admin: 'Runs the deployment. Has every permission, in every tenant.',
  tenant_admin: 'Runs one tenant. Has every permission but those of tenants and the license.',
  security_admin: 'Owns policy, trust, posture and incidents. Reads everything.',
  operator: 'Runs devices, gateways, enrollment and client updates. Reads everything but API keys.',
  helpdesk: 'Helps people: resets credentials, creates enrollment tokens, suspends devices.',
  auditor: 'Reads everything and exports the audit log. Changes nothing.',
  viewer: 'Reads the fleet, people and policy. Changes nothing.',
}

/** Returns the page of roles, with the permissions of each role and the operations of each permission. */
export function rolesPage(): string {
  const has = (role: Role, permission: Permission) => (roles[role] as readonly Permission[]).includes(permission)
  return page(
    'Roles and permissions',
    'Read this page to choose a role for a person or an API key, or to find the permission that an operation needs.\n' +
      '`holdfast role grant` grants a role. A person may have several roles; an API key has one.',
    'A role applies to one tenant. Only `platform_admin` applies to every tenant. A caller can only grant a role whose\n' +
      'permissions the caller has.',
    `## Roles\n\n${table(
      ['Role', 'Purpose'],
      roleNames.map((role) => [code(role), purposes[role]]),
    )}`,
    `## Permissions of each role\n\n${table(
      ['Permission', ...roleNames.map(code)],
      permissions.map((permission) => [
        code(permission),
        ...roleNames.map((role) => (has(role, permission) ? 'yes' : '')),
      ]),
    )}`,
    `## Operations by permission\n\nA field that needs one more permission is named in the description of the operation.\n\n${table(
      ['Permission', 'Operations'],
      permissions.map((permission) => [
        code(permission),
        operationsOf(permission).map(code).join(', ') || 'none of its own',
      ]),
    )}`,
  )
}

const operationsOf = (permission: Permission): string[] =>
  (operations as readonly (readonly [string, Endpoint])[])
    .filter(
      ([, e]) =>
        entryPermissions(e)?.includes(permission) || Object.values(e.fieldPermissions ?? {}).includes(permission),
    )
    .map(([name]) => name)
