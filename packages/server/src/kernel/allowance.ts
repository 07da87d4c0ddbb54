declare const granted: unique symbol
/** That what is about to be added was admitted, in this transaction. Whatever inserts it asks for one. */
export type Granted = { readonly [granted]: true }

/** What may still be added of something that a plan limits; until commit nobody else adds to it. */
export type Allowance = {
  /** How many more fit; Infinity where there is no limit. */
  room: () => number
  /** 409 where so many more do not fit; what comes for as many that go always does. */
  take: (n: number) => Granted
  /** Tells that so many more were asked for and find no place, where nothing is taken; `take` tells by itself. */
  refuse: (n: number) => void
}

/** What the deployment makes for itself, such as the way back in, is bound by no plan. */
export const besideLimits = {} as Granted
