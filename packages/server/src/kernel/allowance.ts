declare const granted: unique symbol
/** Proof that an addition was admitted in this transaction. Functions that insert rows require one. */
export type LimitGrant = { readonly [granted]: true }

/** Remaining allowance of a kind of object that a plan limits. Until commit no other transaction can add to it. */
export type Allowance = {
  /** Number of further objects that fit; Infinity without a limit. */
  room: () => number
  /**
   * Takes `n` from the allowance. Throws 409 if they do not fit. A replacement of as many removed objects always fits.
   */
  take: (n: number) => LimitGrant
  /** Reports that `n` more were requested and do not fit, if nothing is taken. `take` reports by itself. */
  refuse: (n: number) => void
}

/** For objects that the deployment creates itself, such as a break-glass user. No plan limits them. */
export const unlimited = {} as LimitGrant
