import type { ExpiryType } from '@holdfast/contract/vocabulary'

/**
 * An object that expires. `id` is in the API's form; `since` is its creation time. `renewal` is `by_hand`, `not_needed`
 * (already replaced, or ends with something else), or the time by which it is renewed automatically.
 */
export type ExpiringObject = {
  type: ExpiryType
  id: string
  name: string
  since: Date
  expiresAt: Date
  renewal: 'by_hand' | 'not_needed' | Date
}
