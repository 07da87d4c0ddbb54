import { minute } from './time.ts'

/** Time in ms for which a one-time code or a sign-in proves that the person is present. */
export const freshMs = 5 * minute
/** Returns the time until which such a proof is valid. */
export const freshUntil = (shown: Date): Date => new Date(shown.getTime() + freshMs)
