import type { ExpiryType } from '@holdfast/contract/vocabulary'
import type { TenantId } from './actor.ts'

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

/** Yields the expiries of a tenant in batches, so that those of a large fleet are never in memory at once. */
export type ExpirySource = (tenant: TenantId) => AsyncIterable<readonly ExpiringObject[]>

/** Makes a source of the expiries that `read` returns all at once: of a kind of which a tenant has few. */
export const oneBatch = (read: (tenant: TenantId) => Promise<readonly ExpiringObject[]>): ExpirySource =>
  async function* (tenant) {
    yield await read(tenant)
  }
