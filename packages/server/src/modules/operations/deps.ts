import type { Handlers } from '../../http/handlers.ts'

/** How others show what they have. */
export type Reads = Pick<
  Handlers,
  | 'getSecuritySettings'
  | 'getEnrollmentSettings'
  | 'getNotificationSettings'
  | 'getRetention'
  | 'listIdentityProviders'
  | 'listDirectorySources'
  | 'listSiemConnectors'
  | 'listLegalHolds'
  | 'listGatewayPools'
  | 'listGroups'
  | 'listGrants'
  | 'listPolicyBundles'
  | 'listUsers'
  | 'listDevices'
  | 'listGateways'
  | 'gatewayHealth'
  | 'listLocks'
  | 'listTokens'
  | 'listApiKeys'
  | 'listReleases'
  | 'listSigners'
  | 'listExpiries'
  | 'listNotifications'
  | 'listDirectoryRuns'
>
export type OperationsDeps = { reads: Reads; now: () => Date }
