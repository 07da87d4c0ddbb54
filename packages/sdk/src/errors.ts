import type { CryptoErrorCode } from '@holdfast/crypto/errors'

export type FieldError = { field: string; message: string }

/**
 * The server answered with an error. `code` is one of the contract's, or `unexpected_response` if the body was not an
 * error of its form.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly errors: readonly FieldError[]
  readonly retryAfterSeconds: number | undefined
  /** Status of the device, in a 401 for a device that proved its key. */
  readonly deviceStatus: 'suspended' | 'revoked' | undefined

  constructor(
    status: number,
    said: {
      code: string
      detail: string
      requestId?: string | undefined
      errors?: readonly FieldError[] | undefined
      retryAfterSeconds?: number | undefined
      deviceStatus?: 'suspended' | 'revoked' | undefined
    },
  ) {
    super(said.detail)
    this.status = status
    this.code = said.code
    this.requestId = said.requestId
    this.errors = said.errors ?? []
    this.retryAfterSeconds = said.retryAfterSeconds
    this.deviceStatus = said.deviceStatus
  }

  /** The server's error as one sentence; equal to `message`. */
  get detail(): string {
    return this.message
  }
}

/**
 * There is no usable answer: the server could not be reached, closed the connection, or is not a Holdfast server. The
 * request may have taken effect.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/**
 * Reason why signed data was refused. In addition to cryptographic errors: `wrong_tenant` and `wrong_gateway` (meant
 * for another), `wrong_device` and `wrong_nonce` (an assertion of another device, or for another request),
 * `wrong_digest` (other content than announced), `rollback` (older than the held data), `wrong_base` (a delta on
 * another state), `trust_expired` (the held trust set is too old). For a device at a gateway: `no_policy` (no policy in
 * force), `not_a_peer` (suspended, revoked or without a permission), `blocked` (refused for a limited time). For a
 * certificate: `revoked`, `no_crl` and `crl_expired` (revocation can't be checked).
 */
export type VerificationCode =
  | CryptoErrorCode
  | 'wrong_tenant'
  | 'wrong_gateway'
  | 'wrong_device'
  | 'wrong_nonce'
  | 'wrong_digest'
  | 'rollback'
  | 'wrong_base'
  | 'trust_expired'
  | 'no_policy'
  | 'not_a_peer'
  | 'blocked'
  | 'revoked'
  | 'no_crl'
  | 'crl_expired'

/** Signed data was refused. The previously accepted data stays in force. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError'
  readonly code: VerificationCode

  constructor(code: VerificationCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * The machine was not approved: the person refused, the time ran out, or the server's audit event has another reason.
 */
export class NotApprovedError extends Error {
  override readonly name = 'NotApprovedError'
  readonly code: 'access_denied' | 'expired_token' | 'failed'

  constructor(code: NotApprovedError['code']) {
    super(notApproved[code])
    this.code = code
  }
}
const notApproved = {
  access_denied: 'The person did not approve this machine.',
  expired_token: 'Nobody approved this machine in time. Start the enrollment again.',
  failed:
    'The identity provider did not report the person that approved this machine. The reason is in the audit log of the server.',
} as const

/** Throws a `VerificationError`. The return type `never` allows its use in an expression. */
export function reject(code: VerificationCode, message: string): never {
  throw new VerificationError(code, message)
}
