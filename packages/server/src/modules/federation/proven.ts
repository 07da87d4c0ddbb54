/** What an identity provider proved of a person: who says so, what a link is made by, and all else that it says. */
export type Proven = {
  issuer: string
  subject: string
  claims: Readonly<Record<string, unknown>>
  /**
   * Claims that are mapped and absent, of which the provider could not be asked: an ID token came without an access
   * token. Their absence says nothing.
   */
  unknown?: readonly string[]
}

/** Fixed words for audit events; the person who signs in is never told which. */
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
 * Why nothing was proved. The message is a sentence for an administrator who tests the provider. Neither holds anything
 * of a token, a code or a secret, and there is no cause: what libraries attach holds all of them.
 */
export class FederationError extends Error {
  override readonly name = 'FederationError'
  readonly reason: FederationReason
  constructor(reason: FederationReason, message: string) {
    super(message)
    this.reason = reason
  }
}
