import type { ScimType } from '@holdfast/contract/vocabulary'
import { AppError } from '../../../kernel/app-error.ts'

/** A request that breaks a rule of SCIM, with the word that RFC 7644 §3.12 has for it. */
export function failScim(scimType: ScimType, detail: string): never {
  throw new AppError('validation_error', detail, { scimType })
}
