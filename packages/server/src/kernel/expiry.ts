import type { ExpiryType } from '@holdfast/contract/vocabulary'

/**
 * What stops working at a known time: `id` as on the wire, `since` when it was made. Its renewal is somebody's work, or
 * nobody's, because it was replaced already or goes with something else, or happens by itself until that time.
 */
export type Expiry = {
  type: ExpiryType
  id: string
  name: string
  since: Date
  expiresAt: Date
  renewal: 'by_hand' | 'not_needed' | Date
}
