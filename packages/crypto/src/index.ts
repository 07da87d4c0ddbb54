export { auditHash, noHash } from './audit-chain.ts'
export { canonicalJson, contentDigest, isInOrder, sha256Hex } from './canonical.ts'
export {
  type Checkpoint,
  openCheckpoint,
  peekCheckpoint,
  signCheckpoint,
} from './checkpoint.ts'
export { isX25519Key } from './curve-points.ts'
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
export { type DecodedJws, decodeCompact, decodeJws, type JwsHeader, type KeyLookup, signJws, verifyJws } from './jws.ts'
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
  consistencySpans,
  createGrowingTree,
  inclusionSpans,
  joined,
  leafHash,
  type MerkleNode,
  nodesOf,
  rootOver,
  type Span,
} from './merkle.ts'
export { isConsistent, isIncluded, peaksBefore } from './merkle-verify.ts'
export {
  challengeEnd,
  enrollmentNonce,
  equalDigest,
  isStoredAs,
  type MintedToken,
  mintChallenge,
  mintToken,
  type PresentedToken,
  readToken,
  type TokenPrefix,
} from './opaque-token.ts'
export {
  canonicalPassword,
  createPasswordHasher,
  defaultPasswordParams,
  hashPassword,
  needsRehash,
  type PasswordHasher,
  type PasswordParams,
  verifyDummy,
  verifyPassword,
} from './password.ts'
export {
  createPeppers,
  digestSecret,
  digestsOfSecret,
  mostPeppers,
  type Pepper,
  type Peppers,
  type StoredDigest,
  storedDigests,
  takenTo,
} from './peppers.ts'
export { type Kek, openKek, reseal, seal, sealedKid, sealedPrefix, unseal } from './seal.ts'
export { sealTo } from './seal-to.ts'
export { QueueFullError } from './semaphore.ts'
export type { VerificationKey } from './signature.ts'
export { type GeneratedKey, generateKey, type Purpose, remoteSigner, type Signer, softwareSigner } from './signer.ts'
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
  createCrossCertificate,
  createIssuingCertificate,
  createRootCertificate,
  mintSerial,
} from './x509/ca.ts'
export type { CertificateFiles } from './x509/certificate.ts'
export { type CertificateInfo, certificateInfo, openCertificate } from './x509/certificate-info.ts'
export { type CertificateRequest, readCertificateRequest } from './x509/certificate-request.ts'
export { createCertificateRequest, createKeyAndRequest } from './x509/certificate-request-write.ts'
export { type ChainOptions, verifyChain } from './x509/chain.ts'
export { type Crl, readCrl } from './x509/crl-read.ts'
export { type CrlFields, createCrl, type RevokedCertificate, type Slices } from './x509/crl-write.ts'
export { keyIdentifier } from './x509/issuer.ts'
export { type CertId, type OcspRequest, readOcspRequest } from './x509/ocsp-request.ts'
export {
  type OcspAnswer,
  type OcspError,
  type OcspResponder,
  type OcspResponse,
  type OcspStatus,
  ocspErrorResponse,
  ocspResponder,
} from './x509/ocsp-response.ts'
export { encodePem, type PemLabel } from './x509/pem.ts'
export { type RevocationReason, reasonCodes } from './x509/revocation-reason.ts'
export { type SpcFields, type SpcIssuer, type SpcIssuerOptions, spcIssuer } from './x509/spc-issue.ts'
export { defaultOidArc, policyOid, type SpcPolicy } from './x509/spc-policy.ts'
export { readSpc, type Spc, spcVerifier } from './x509/spc-read.ts'
export { spiffeId } from './x509/spiffe-id.ts'
