import { presenceMinutes } from '@holdfast/contract/limits'
import { minute } from './time.ts'

/** Time in ms for which a one-time code or a sign-in proves that the person is present. */
const freshMs = presenceMinutes * minute
/** What a change needs of a person, in the words of an error. */
export const presenceProof = {
  code: `a one-time code not older than ${presenceMinutes} minutes: send one to POST /v1/admin/auth/step-up, then repeat it`,
  signIn: `a sign-in not older than ${presenceMinutes} minutes: sign in again, then repeat it`,
}
/** Returns the time until which such a proof is valid. */
export const freshUntil = (shown: Date): Date => new Date(shown.getTime() + freshMs)
