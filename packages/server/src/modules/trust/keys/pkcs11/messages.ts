import type { PublicJwk, SigningAlg } from '@holdfast/crypto'

/** Where the token is and how it is logged into. */
export type TokenPlace = { library: string; label: string; pin: string }

/** What the process beside is asked. A key is named by its `kid`. */
export type TokenRequest =
  | { ask: 'open'; place: TokenPlace }
  | { ask: 'make'; alg: SigningAlg; purpose: string }
  | { ask: 'sign'; kid: string; digest: Uint8Array }
  | { ask: 'destroy'; kid: string }
export type TokenAnswers = { open: null; make: PublicJwk; sign: Uint8Array; destroy: null }

/**
 * What went wrong: the token as a whole (`token`), its PIN, which is not to be tried again (`pin`), or this one request
 * (`request`).
 */
export type TokenFault = 'token' | 'pin' | 'request'

export type TokenMessage = { id: number; request: TokenRequest }
export type TokenAnswer =
  | { id: number; result: TokenAnswers[TokenRequest['ask']] }
  | { id: number; fault: TokenFault; message: string }
