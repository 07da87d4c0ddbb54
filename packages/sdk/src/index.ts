export type { ProofSigner } from '@holdfast/crypto/dpop'
export { createAdmin, type SignedIn, signIn } from './admin.ts'
export {
  type AuditExportManifest,
  type AuditExportOptions,
  type AuditExportQuery,
  auditManifestPath,
  receiveAuditExport,
  type SignedAuditExportManifest,
  saveAuditExport,
} from './audit-export.ts'
export { type ChangesOptions, changes } from './changes.ts'
export { type CallInput, type Client, createClient } from './client.ts'
export { type Device, openDevice } from './device.ts'
export {
  createProofMemory,
  type DeviceAtGateway,
  type ProofMemory,
  type SessionProof,
  verifyDeviceAtGateway,
} from './device-at-gateway.ts'
export type { CertificateRenewal, DeviceCertificate } from './device-certificate.ts'
export type { Polled } from './device-core.ts'
export type { CertificateKey, DeviceOptions, Renewal } from './device-options.ts'
export type { PollingOptions } from './device-polling.ts'
export type { TelemetryEvent } from './device-reports.ts'
export { type DeviceState, type DeviceStore, fileStore } from './device-state.ts'
export { type DeviceEnd, DeviceEndedError, type DeviceStatus } from './device-status.ts'
export type { FollowingOptions } from './directory-following.ts'
export {
  type DirectoryGateway,
  type DirectoryPool,
  type GatewayDirectory,
  verifyGatewayDirectory,
} from './directory-verifier.ts'
export { type Enrollment, enrollDevice } from './enroll.ts'
export {
  beginDeviceCodeEnrollment,
  type DeviceApproval,
  type DeviceCodeEnrollment,
} from './enroll-device-code.ts'
export { beginOidcEnrollment, type OidcEnrollment } from './enroll-oidc.ts'
export { beginSamlEnrollment, type SamlEnrollment, type SamlRequest } from './enroll-saml.ts'
export {
  ApiError,
  ConnectionError,
  type FieldError,
  NotApprovedError,
  type VerificationCode,
  VerificationError,
} from './errors.ts'
export { type Gateway, type GatewayOptions, openGateway } from './gateway.ts'
export type { ApplyFailure } from './gateway-applier.ts'
export { chooseGateway, type GatewayChoice, type Position } from './gateway-choice.ts'
export type { GatewayCrls } from './gateway-crls.ts'
export type { AddressMove } from './gateway-keys.ts'
export type { Metered, MeteringLoad, MeteringSample } from './gateway-metering.ts'
export type { GatewayStatus, PullingOptions } from './gateway-pulling.ts'
export type { Counters, GatewaySession, GatewaySessions } from './gateway-sessions.ts'
export { type GatewayChange, type GatewayState, isBlocked } from './gateway-state.ts'
export { folderStore, type GatewayStore } from './gateway-store.ts'
export {
  type GatewayPart,
  type GatewayPolicy,
  type Peer,
  type PoolPart,
  type RevokedSession,
  type TunnelKey,
  verifyGatewayPolicy,
} from './gateway-verifier.ts'
export { uploadPackageFile } from './package-upload.ts'
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
} from './partial-changes.ts'
export {
  type DevicePolicy,
  type PolicyContent,
  type PolicyPointer,
  verifyBundle,
  verifyPointer,
} from './policy-verifier.ts'
export { type PostureAssertion, verifyPostureAssertion } from './posture-verifier.ts'
export { readPrivateFile, writePrivateFile } from './private-file.ts'
export { createSender, type Reply, type RequestOptions, type Send, type SenderOptions } from './send.ts'
export type { SpcAtGateway } from './spc-at-gateway.ts'
export { openTrust, pinTrust, readTrustSet, type SignedTrustSet, type TrustStore } from './trust-store.ts'
export type { DownloadOptions } from './update-download.ts'
export {
  type OfferedUpdate,
  type UpdateCheck,
  type UpdateQuestion,
  verifyManifest,
} from './update-verifier.ts'
export { change, versionOf } from './versions.ts'
