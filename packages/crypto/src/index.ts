export { canonicalJson, contentDigest, sha256Hex } from './canonical.ts'
export {
  type DeviceCredentialClaims,
  deviceCredentialType,
  issueDeviceCredential,
  peekDeviceCredential,
  verifyDeviceCredential,
} from './device-credential.ts'
export {
  createProof,
  type ProofAlg,
  type ProofExpectation,
  type ProofHeader,
  type ProofRequest,
  type ProofSigner,
  proofKey,
  type VerifiedProof,
  verifyProof,
} from './dpop.ts'
export { CryptoError, type CryptoErrorCode } from './errors.ts'
export type { Instant } from './instant.ts'
export {
  algOf,
  importPublic,
  type PrivateJwk,
  type PublicJwk,
  parsePublicJwk,
  type SigningAlg,
  thumbprint,
} from './jwk.ts'
export { type DecodedJws, decodeJws, type JwsHeader, type KeyLookup, signJws, verifyJws } from './jws.ts'
export { type GeneralJws, signGeneralJws, verifyGeneralJws } from './jws-general.ts'
export {
  generateLicenseKey,
  type LicenseClaims,
  LicenseError,
  type LicenseErrorCode,
  type LicenseKey,
  peekLicense,
  readLicenseKeys,
  signLicense,
  verifyLicense,
} from './license.ts'
export {
  challengeEnd,
  digestToken,
  enrollmentNonce,
  equalDigest,
  type MintedToken,
  mintChallenge,
  mintToken,
  type PresentedToken,
  readToken,
  type TokenPrefix,
} from './opaque-token.ts'
export {
  createPasswordHasher,
  defaultPasswordParams,
  hashPassword,
  needsRehash,
  type PasswordHasher,
  type PasswordParams,
  verifyDummy,
  verifyPassword,
} from './password.ts'
export { type Kek, openKek, seal, sealedKid, unseal } from './seal.ts'
export { QueueFullError } from './semaphore.ts'
export type { VerificationKey } from './signature.ts'
export { type GeneratedKey, generateKey, type Purpose, type Signer, softwareSigner } from './signer.ts'
export {
  matchTotp,
  mintTotpSeed,
  provisioningUri,
  toBase32,
  totpCode,
  totpPeriodSeconds,
  totpStep,
} from './totp.ts'
export {
  importTufKey,
  isSignedBy,
  signTuf,
  type TufKey,
  type TufRole,
  type TufSignature,
  type TufSigned,
  tufKeyId,
  tufKeyOf,
  tufSignature,
  tufSpecVersion,
} from './tuf.ts'
export {
  type CaCertificateFields,
  type CertificateInfo,
  certificateInfo,
  createIssuingCertificate,
  createRootCertificate,
  mintSerial,
} from './x509.ts'
export type { CertificateFiles } from './x509-sign.ts'
