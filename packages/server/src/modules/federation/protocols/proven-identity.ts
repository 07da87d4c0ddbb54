/**
 * Statements of an identity provider about a person: the issuer, the subject that a link is made with, and the other
 * claims.
 */
export type ProvenIdentity = {
  issuer: string
  subject: string
  claims: Readonly<Record<string, unknown>>
  /** Mapped claims that are absent and whose value is unknown, because an ID token came without an access token. */
  unknown?: readonly string[]
}

/** Fixed reasons for audit events. The person who signs in never sees them. */
type FederationReason =
  | 'unreachable'
  | 'discovery'
  | 'issuer'
  | 'keys'
  | 'client'
  | 'denied'
  | 'expired'
  | 'unsupported'
  | 'state'
  | 'code'
  | 'token'
  | 'algorithm'
  | 'signature'
  | 'time'
  | 'audience'
  | 'destination'
  | 'nonce'
  | 'events'
  | 'subject'
  | 'groups'
  | 'userinfo'
  | 'encrypted'

/**
 * Failure to prove a person. The message is a sentence for an administrator who tests the provider. Reason and message
 * contain no part of a token, a code or a secret. There is no `cause`: errors of libraries contain all of these.
 */
export class FederationError extends Error {
  override readonly name = 'FederationError'
  readonly reason: FederationReason
  constructor(reason: FederationReason, message: string) {
    super(message)
    this.reason = reason
  }
}
