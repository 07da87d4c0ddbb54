/** What a key signs: one thing, so that a signature of one kind never passes for another (SP 800-57 part 1 §5.2). */
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
/** Where private keys are: sealed in the database, or in a token that makes the signatures itself. */
export const signerProviders = ['local', 'pkcs11'] as const
export type SignerProvider = (typeof signerProviders)[number]

/** Why a certificate no longer counts (RFC 5280 §5.3.1), as far as somebody may say it here. */
export const revocationReasons = [
  'unspecified',
  'keyCompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'privilegeWithdrawn',
] as const
export type RevocationReason = (typeof revocationReasons)[number]

/** What stops working at a known time. A license has two ends where it gives grace. */
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
/** The first that fits, of what somebody has to renew: over, within a day, within 30 days, later. */
export const expiryStatuses = ['expired', 'critical', 'warning', 'ok'] as const
export type ExpiryStatus = (typeof expiryStatuses)[number]
