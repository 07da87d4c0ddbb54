import { ApiError } from '../../api/api-error.ts'

/**
 * Makes a sentence of the API error for a field: `is wrong` becomes `The current password is wrong.`
 *
 * @param subject - the field, with its article
 */
export const fieldSentence = (subject: string, message: string | undefined): string | undefined =>
  message === undefined ? undefined : `${subject} ${message}.`

/** True if the error has messages for fields of a form. */
export const hasFieldErrors = (error: Error): boolean => error instanceof ApiError && error.errors.length > 0
