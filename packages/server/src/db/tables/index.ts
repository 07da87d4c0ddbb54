import type { AccessTables } from './access.ts'
import type { AuditTables } from './audit.ts'
import type { CertificatesTables } from './certificates.ts'
import type { ComplianceTables } from './compliance.ts'
import type { DashboardTables } from './dashboard.ts'
import type { DbTables } from './db.ts'
import type { DevicesTables } from './devices.ts'
import type { DirectoryTables } from './directory.ts'
import type { EnrollmentTables } from './enrollment.ts'
import type { ExpiryTables } from './expiry.ts'
import type { FederationTables } from './federation.ts'
import type { GatewaysTables } from './gateways.ts'
import type { HealthTables } from './health.ts'
import type { IdentityTables } from './identity.ts'
import type { LocksTables } from './locks.ts'
import type { NotificationsTables } from './notifications.ts'
import type { PolicyTables } from './policy.ts'
import type { ReplicationTables } from './replication.ts'
import type { SearchTables } from './search.ts'
import type { SecretsTables } from './secrets.ts'
import type { SiemTables } from './siem.ts'
import type { TenancyTables } from './tenancy.ts'
import type { TrustTables } from './trust.ts'
import type { UpdatesTables } from './updates.ts'
import type { ViewsTables } from './views.ts'
import type { WorkflowsTables } from './workflows.ts'

export type { DeviceStatus, EffectiveStatus, LockedBy, PostureVerdict, Presence, UserState } from './devices.ts'
export type { OidcSettings } from './federation.ts'

/**
 * Every table, by module. bigint columns are read as numbers: sequence numbers and byte counts stay below 2^53. The
 * tenant id of a row is a `TenantId` without further validation.
 */
export type Tables = AccessTables &
  AuditTables &
  CertificatesTables &
  ComplianceTables &
  DashboardTables &
  DbTables &
  DevicesTables &
  DirectoryTables &
  EnrollmentTables &
  ExpiryTables &
  FederationTables &
  GatewaysTables &
  HealthTables &
  IdentityTables &
  LocksTables &
  NotificationsTables &
  PolicyTables &
  ReplicationTables &
  SearchTables &
  SecretsTables &
  SiemTables &
  TenancyTables &
  TrustTables &
  UpdatesTables &
  ViewsTables &
  WorkflowsTables
