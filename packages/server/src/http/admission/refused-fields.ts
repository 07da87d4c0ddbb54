import { contract, type Operation } from '@holdfast/contract'
import type { AuditFields, ErrorCode } from '@holdfast/contract/vocabulary'

/** Returns the fields of the event `request.refused`. */
export const refusedFields = (operation: Operation, error: ErrorCode): AuditFields['request.refused'] => {
  const { method, path } = contract[operation]
  return { operation, endpoint: `${method} ${path}`, reason: error }
}
