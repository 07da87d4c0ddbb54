/**
 * Purposes of keys. A key has only one, so that a signature of one kind never passes for another (SP 800-57 part 1
 * §5.2).
 */
export const signerPurposes = [
  'credential',
  'policy',
  'gateway-policy',
  'posture',
  'update',
  'trust-set',
  'ca-root',
  'ca-issuing',
  'audit-checkpoint',
  'tuf-root',
  'tuf-targets',
  'tuf-snapshot',
  'tuf-timestamp',
] as const
export type SignerPurpose = (typeof signerPurposes)[number]
export const signerStates = ['pending', 'active', 'retiring', 'retired', 'compromised'] as const
export type SignerState = (typeof signerStates)[number]
/** Places of private keys: sealed in the database, or in a token that makes the signatures itself. */
export const signerProviders = ['local', 'pkcs11'] as const
export type SignerProvider = (typeof signerProviders)[number]

/** Reasons of a revocation (RFC 5280 §5.3.1) that a caller can choose. */
export const revocationReasons = [
  'unspecified',
  'keyCompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'privilegeWithdrawn',
] as const
export type RevocationReason = (typeof revocationReasons)[number]

/** Objects that end at a known time. A license with a grace period has two ends. */
export const expiryTypes = [
  'api_key',
  'gateway_secret',
  'identity_provider_certificate',
  'identity_provider_metadata',
  'trust_anchor',
  'issuing_ca',
  'cross_certificate',
  'signing_key',
  'trust_set',
  'crl',
  'tls_certificate',
  'license',
] as const
export type ExpiryType = (typeof expiryTypes)[number]
/**
 * Status of an expiry that somebody has to renew; the first match counts: over, within a day, within 30 days, later.
 */
export const expiryStatuses = ['expired', 'critical', 'warning', 'ok'] as const
export type ExpiryStatus = (typeof expiryStatuses)[number]
