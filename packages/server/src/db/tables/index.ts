import type { AccessTables } from './access.ts'
import type { AuditTables } from './audit.ts'
import type { DashboardTables } from './dashboard.ts'
import type { DevicesTables } from './devices.ts'
import type { DirectoryTables } from './directory.ts'
import type { ExpiryTables } from './expiry.ts'
import type { FederationTables } from './federation.ts'
import type { GatewaysTables } from './gateways.ts'
import type { NotificationsTables } from './notifications.ts'
import type { OperationsTables } from './operations.ts'
import type { PeopleTables } from './people.ts'
import type { PolicyTables } from './policy.ts'
import type { RetentionTables } from './retention.ts'
import type { SiemTables } from './siem.ts'
import type { TenancyTables } from './tenancy.ts'
import type { TrustTables } from './trust.ts'
import type { UpdatesTables } from './updates.ts'

export type { DeviceStatus, EffectiveStatus, LockedBy, PostureVerdict, Presence, UserState } from './devices.ts'
export type { OidcSettings } from './federation.ts'

/**
 * Every table, by area. bigint columns are read as numbers: sequence numbers and byte counts stay below 2^53. The
 * tenant id of a row is a `TenantId` without further validation.
 */
export type Tables = AccessTables &
  AuditTables &
  DashboardTables &
  DevicesTables &
  ExpiryTables &
  FederationTables &
  DirectoryTables &
  GatewaysTables &
  NotificationsTables &
  OperationsTables &
  PeopleTables &
  PolicyTables &
  SiemTables &
  RetentionTables &
  TenancyTables &
  TrustTables &
  UpdatesTables
