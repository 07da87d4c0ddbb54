import type { Handlers } from '../../http/handlers.ts'

/** Read operations of other modules, which the exports call. */
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
