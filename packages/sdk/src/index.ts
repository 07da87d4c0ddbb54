export type { ProofSigner } from '@holdfast/crypto/dpop'
export { createAdmin, type SignedIn, signIn } from './admin/admin.ts'
export {
  type AuditExportManifest,
  type AuditExportOptions,
  type AuditExportQuery,
  auditManifestPath,
  receiveAuditExport,
  type SignedAuditExportManifest,
  saveAuditExport,
} from './admin/audit-export.ts'
export { type ChangesOptions, changes } from './admin/changes.ts'
export { uploadPackageFile } from './admin/package-upload.ts'
export {
  changeDirectorySource,
  changeDraft,
  changeEnrollmentSettings,
  changeGateway,
  changeGatewayPool,
  changeIdentityProvider,
  changeNotificationSettings,
  changePlan,
  changeRetention,
  changeSecuritySettings,
  changeSiemConnector,
  changeView,
  overlay,
} from './admin/partial-changes.ts'
export { type CallInput, type Client, createClient } from './client.ts'
export {
  createProofMemory,
  type DeviceAtGateway,
  type ProofMemory,
  type SessionProof,
  verifyDeviceAtGateway,
} from './device/at-gateway.ts'
export type { CertificateRenewal, DeviceCertificate } from './device/certificate.ts'
export type { Polled } from './device/core.ts'
export { type Device, openDevice } from './device/device.ts'
export { type Enrollment, enrollDevice } from './device/enroll.ts'
export {
  beginDeviceCodeEnrollment,
  type DeviceApproval,
  type DeviceCodeEnrollment,
} from './device/enroll-device-code.ts'
export { beginOidcEnrollment, type OidcEnrollment } from './device/enroll-oidc.ts'
export { beginSamlEnrollment, type SamlEnrollment, type SamlRequest } from './device/enroll-saml.ts'
export type { CertificateKey, DeviceOptions, Renewal } from './device/options.ts'
export type { PollingOptions } from './device/polling.ts'
export type { TelemetryEvent } from './device/reports.ts'
export { type DeviceState, type DeviceStore, fileStore } from './device/state.ts'
export { type DeviceEnd, DeviceEndedError, type DeviceStatus } from './device/status.ts'
export {
  ApiError,
  ConnectionError,
  type FieldError,
  NotApprovedError,
  type VerificationCode,
  VerificationError,
} from './errors.ts'
export type { ApplyFailure } from './gateway/applier.ts'
export { chooseGateway, type GatewayChoice, type Position } from './gateway/choice.ts'
export type { GatewayCrls } from './gateway/crls.ts'
export type { FollowingOptions } from './gateway/directory-following.ts'
export { type Gateway, type GatewayOptions, openGateway } from './gateway/gateway.ts'
export type { AddressMove } from './gateway/keys.ts'
export type { Metered, MeteringLoad, MeteringSample } from './gateway/metering.ts'
export type { GatewayStatus, PullingOptions } from './gateway/pulling.ts'
export type { Counters, GatewaySession, GatewaySessions } from './gateway/sessions.ts'
export type { SpcAtGateway } from './gateway/spc-at-gateway.ts'
export { type GatewayChange, type GatewayState, isBlocked } from './gateway/state.ts'
export { folderStore, type GatewayStore } from './gateway/store.ts'
export {
  type GatewayPart,
  type GatewayPolicy,
  type Peer,
  type PoolPart,
  type RevokedSession,
  type TunnelKey,
  verifyGatewayPolicy,
} from './gateway/verifier.ts'
export { readPrivateFile, writePrivateFile } from './private-file.ts'
export { createSender, type Reply, type RequestOptions, type Send, type SenderOptions } from './send.ts'
export {
  type DirectoryGateway,
  type DirectoryPool,
  type GatewayDirectory,
  verifyGatewayDirectory,
} from './verify/directory-verifier.ts'
export {
  type DevicePolicy,
  type PolicyContent,
  type PolicyPointer,
  verifyBundle,
  verifyPointer,
} from './verify/policy-verifier.ts'
export { type PostureAssertion, verifyPostureAssertion } from './verify/posture-verifier.ts'
export { openTrust, pinTrust, readTrustSet, type SignedTrustSet, type TrustStore } from './verify/trust-store.ts'
export type { DownloadOptions } from './verify/update-download.ts'
export {
  type OfferedUpdate,
  type UpdateCheck,
  type UpdateQuestion,
  verifyManifest,
} from './verify/update-verifier.ts'
export { change, versionOf } from './versions.ts'
