import type { Permission } from './vocabulary.ts'

/** The kinds that a search finds. */
export const searchKinds = [
  'device',
  'user',
  'group',
  'gateway',
  'gateway_pool',
  'enrollment_token',
  'vpn_session',
  'api_key',
  'policy_version',
  'policy_resource',
  'settings_page',
] as const
export type SearchKind = (typeof searchKinds)[number]

/** The operations and playbooks that a search hit can name. */
export const searchActions = [
  'approve',
  'suspend',
  'reactivate',
  'revoke',
  'unlock',
  'drain',
  'undrain',
  'terminate',
  'lost_device',
  'compromised_user',
  'compromised_gateway',
] as const
export type SearchAction = (typeof searchActions)[number]

/** The lists that a saved view can belong to, and the operation that reads each. */
export const viewLists = {
  devices: 'listDevices',
  users: 'listUsers',
  groups: 'listGroups',
  gateways: 'listAllGateways',
  sessions: 'listSessions',
  tokens: 'listTokens',
  api_keys: 'listApiKeys',
  certificates: 'listSpcs',
  notifications: 'listNotifications',
  runs: 'listWorkflowRuns',
  locks: 'listLocks',
  audit: 'listAuditEvents',
  releases: 'listReleases',
} as const
export type ViewList = keyof typeof viewLists
export const viewListNames = Object.keys(viewLists) as [ViewList, ...ViewList[]]

/** How many views a person keeps, and how many a tenant shares. */
export const viewLimits = { own: 100, shared: 100 } as const

/** The permission that lets a caller change a shared view of somebody else. */
export const sharedViewPermission: Permission = 'settings:write'
