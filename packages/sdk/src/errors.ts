import type { CryptoErrorCode } from '@holdfast/crypto/errors'

export type FieldError = { field: string; message: string }

/**
 * The server answered with an error. `code` is one of the contract's, or `unexpected_response` when the body was not an
 * error of its shape.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly errors: readonly FieldError[]
  readonly retryAfterSeconds: number | undefined
  /** Of a 401 to a device that proved its key: what has become of it. */
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

  /** What the server said, as one sentence; equal to `message`. */
  get detail(): string {
    return this.message
  }
}

/**
 * No usable answer: the server could not be reached, broke off, or is no Holdfast. The request may have had its effect.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/**
 * Why something signed was not accepted. Beside what cryptography says: `wrong_tenant` and `wrong_gateway` (meant for
 * another), `wrong_device` and `wrong_nonce` (an assertion of another device, or for somebody else's question),
 * `wrong_digest` (content other than announced), `rollback` (older than what is held), `wrong_base` (a delta on another
 * state), `trust_expired` (the held trust set is too old to judge by); of a device at a gateway `no_policy` (nothing in
 * force to judge by), `not_a_peer` (suspended, revoked or without a right), `blocked` (kept out for a while);
 * of a certificate `revoked`, `no_crl` and `crl_expired` (whether it is revoked can not be said).
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

/** Something signed was refused; what was held before stays in force. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError'
  readonly code: VerificationCode

  constructor(code: VerificationCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Nobody approved the machine: somebody refused, time ran out, or for a reason that the server's audit event says. */
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
  expired_token: 'Nobody approved this machine in time; begin again.',
  failed: 'The identity provider did not say who approved this machine; the reason is in the audit log of the server.',
} as const

/** Throws; typed `never` so that it can stand in an expression. */
export function reject(code: VerificationCode, message: string): never {
  throw new VerificationError(code, message)
}
