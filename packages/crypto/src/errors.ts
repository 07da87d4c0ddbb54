/**
 * Reason of a refusal.
 * `malformed`: cannot be read, or breaks its format.
 * `wrong_type`: a `typ` or key purpose for something else.
 * `wrong_binding`: a proof for another method, URL, token or key.
 * `wrong_context`: a sealed secret in another place than the one it was sealed for, or a certificate of another tenant.
 * `bad_signature`: also a failed authentication tag.
 */
export type CryptoErrorCode =
  | 'malformed'
  | 'bad_signature'
  | 'bad_algorithm'
  | 'wrong_type'
  | 'expired'
  | 'not_yet_valid'
  | 'wrong_audience'
  | 'wrong_issuer'
  | 'wrong_binding'
  | 'unknown_key'
  | 'replayed'
  | 'wrong_context'

/**
 * The only error of this package. Callers decide by `code`. The message is for logs and never contains key or token
 * material.
 */
export class CryptoError extends Error {
  readonly code: CryptoErrorCode

  constructor(code: CryptoErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CryptoError'
    this.code = code
  }
}

/** Throws; typed `never` so that it can be used in an expression. */
export function refuse(code: CryptoErrorCode, message: string, cause?: unknown): never {
  throw new CryptoError(code, message, cause === undefined ? undefined : { cause })
}
