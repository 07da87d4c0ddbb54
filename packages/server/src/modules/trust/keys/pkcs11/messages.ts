import type { PublicJwk, SigningAlg } from '@holdfast/crypto'

/** Location of the token, and the PIN for its login. */
export type TokenPlace = { library: string; label: string; pin: string }

/** Requests to the token process. A key is identified by its `kid`. */
export type Pkcs11Request =
  | { ask: 'open'; place: TokenPlace }
  | { ask: 'make'; alg: SigningAlg; purpose: string }
  | { ask: 'sign'; kid: string; digest: Uint8Array }
  | { ask: 'destroy'; kid: string }
export type TokenAnswers = { open: null; make: PublicJwk; sign: Uint8Array; destroy: null }

/**
 * Scope of a fault: the token as a whole (`token`), its PIN, which must not be retried (`pin`), or this one request
 * (`request`).
 */
export type TokenFault = 'token' | 'pin' | 'request'

export type TokenMessage = { id: number; request: Pkcs11Request }
export type TokenAnswer =
  | { id: number; result: TokenAnswers[Pkcs11Request['ask']] }
  | { id: number; fault: TokenFault; message: string }
