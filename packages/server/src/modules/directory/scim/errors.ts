import type { ScimType } from '@holdfast/contract/vocabulary'
import { AppError } from '../../../kernel/app-error.ts'

/** Refuses a request that violates SCIM, with an error type of RFC 7644 §3.12. */
export function failScim(scimType: ScimType, detail: string): never {
  throw new AppError('validation_error', detail, { scimType })
}
