import { ApiError } from '../../api/api-error.ts'

/**
 * Makes a sentence of what the API says about a field: `is wrong` becomes `The current password is wrong.`
 *
 * @param subject - the field, with its article
 */
export const fieldSentence = (subject: string, message: string | undefined): string | undefined =>
  message === undefined ? undefined : `${subject} ${message}.`

/** Whether the error stands at fields of a form. */
export const hasFieldErrors = (error: Error): boolean => error instanceof ApiError && error.errors.length > 0
