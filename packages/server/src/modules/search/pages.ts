import type { Permission } from '@holdfast/contract/vocabulary'
import { byRank, type HeldSource, type Match, rankOf } from '../../db/search.ts'
import { permissionsOf } from '../../kernel/actor.ts'

type Page = {
  path: string
  name: string
  permission?: Permission
  /** Other words that people use for the page. */
  also: readonly string[]
}

/**
 * Pages of the console that hold settings, or that no other kind leads to. `createPageSource` leaves out pages that the
 * console lacks.
 */
const pages: readonly Page[] = [
  { path: '/admin/me', name: 'My account', also: ['profile', 'password', 'second factor', 'theme', 'sign out'] },
  {
    path: '/admin/security',
    name: 'Security settings',
    permission: 'settings:read',
    also: ['login', 'lockout', 'timeouts', 'rate limits', 'second factor', 'step-up', 'admin sessions'],
  },
  {
    path: '/admin/sign-in',
    name: 'Sign-in and identity providers',
    permission: 'settings:read',
    also: ['sso', 'oidc', 'saml', 'keycloak', 'entra', 'okta', 'identity providers'],
  },
  {
    path: '/admin/directory',
    name: 'Directory sync',
    permission: 'directory:read',
    also: ['scim', 'ldap', 'provisioning', 'keycloak', 'entra', 'okta'],
  },
  { path: '/admin/roles', name: 'Roles', permission: 'rbac:read', also: ['permissions', 'grants', 'administrators'] },
  { path: '/admin/pools', name: 'Gateway pools', permission: 'settings:read', also: ['regions', 'pools'] },
  { path: '/admin/trust', name: 'Trust anchors', permission: 'trust:read', also: ['ca', 'root', 'rotation'] },
  { path: '/admin/signers', name: 'Signing keys', permission: 'trust:read', also: ['signers', 'hsm', 'kms'] },
  { path: '/admin/certificates', name: 'Certificates', permission: 'spc:read', also: ['spc', 'expiry', 'revocation'] },
  {
    path: '/admin/audit/forwarding',
    name: 'Audit forwarding',
    permission: 'siem:read',
    also: ['siem', 'syslog', 'splunk', 'opensearch', 'webhook'],
  },
  { path: '/admin/audit/exports', name: 'Audit exports', permission: 'audit:read', also: ['evidence', 'download'] },
  { path: '/admin/audit', name: 'Audit log', permission: 'audit:read', also: ['events', 'history'] },
  {
    path: '/admin/compliance',
    name: 'Retention and legal holds',
    permission: 'audit:read',
    also: ['compliance', 'purge'],
  },
  { path: '/admin/alerts', name: 'Alerts', permission: 'operations:read', also: ['notifications', 'inbox', 'webhook'] },
  { path: '/admin/updates', name: 'Client updates', permission: 'updates:read', also: ['releases', 'tuf', 'versions'] },
  {
    path: '/admin/enrollment',
    name: 'Enrollment',
    permission: 'enrollment_tokens:read',
    also: ['tokens', 'onboarding'],
  },
  { path: '/admin/posture', name: 'Posture', permission: 'posture:read', also: ['compliance', 'checks'] },
  {
    path: '/admin/policy',
    name: 'Policy',
    permission: 'policy:read',
    also: ['rules', 'channels', 'canary', 'rollout'],
  },
  {
    path: '/admin/incidents',
    name: 'Incidents',
    permission: 'incidents:read',
    also: ['playbooks', 'lockdown', 'locks'],
  },
  { path: '/admin/workflows', name: 'Workflows', permission: 'workflows:read', also: ['automation', 'runs'] },
  {
    path: '/admin/license',
    name: 'License and usage',
    permission: 'license:read',
    also: ['plan', 'limits', 'entitlement'],
  },
  { path: '/admin/api-keys', name: 'API keys', permission: 'api_keys:read', also: ['service accounts', 'automation'] },
  { path: '/admin/tenants', name: 'Tenants', permission: 'tenants:read', also: ['companies', 'plans'] },
  { path: '/admin/system', name: 'System', permission: 'operations:read', also: ['health', 'version', 'readiness'] },
]

/** Finds only pages that the console of this deployment has. `paths`: the pages of its build. */
export const createPageSource = (paths: readonly string[]): HeldSource => ({
  kind: 'settings_page',
  match: (actor, text, most) => {
    const held = permissionsOf(actor)
    const found = pages.flatMap(({ path, name, permission, also }): Match[] => {
      if (!paths.includes(path) || (permission !== undefined && !held.has(permission))) return []
      const rank = rankOf([name], text) ?? (rankOf(also, text) === undefined ? undefined : 2)
      return rank === undefined ? [] : [{ id: path, name, detail: path, status: null, allows: [], rank }]
    })
    return found.sort(byRank).slice(0, most)
  },
})
