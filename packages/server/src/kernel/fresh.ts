import { minute } from './time.ts'

/** How long proof that a person is there counts: a one-time code that was shown, a sign-in. */
export const freshMs = 5 * minute
/** Until when what was shown then counts. */
export const freshUntil = (shown: Date): Date => new Date(shown.getTime() + freshMs)
