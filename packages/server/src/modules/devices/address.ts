import { createHash } from 'node:crypto'
import type { TenantId } from '../../kernel/actor.ts'

/** Addresses of 100.64.0.0/10 (RFC 6598) that a tenant's devices take in order. */
export const addressCapacity = 2 ** 22 - 2

/**
 * The overlay addresses of a device: its number in 100.64.0.0/10, and in the tenant's own unique local prefix
 * (RFC 4193: fd and 40 bits derived from the tenant's id).
 */
export function addressesOf(tenant: TenantId, number: number): { ipv4: string; ipv6: string } {
  const v4 = (100 << 24) + (64 << 16) + number
  const prefix = createHash('sha256').update(tenant).digest('hex').slice(0, 10)
  const low = number.toString(16).padStart(8, '0')
  return {
    ipv4: [24, 16, 8, 0].map((shift) => (v4 >>> shift) & 255).join('.'),
    ipv6: `fd${prefix.slice(0, 2)}:${prefix.slice(2, 6)}:${prefix.slice(6)}::${low.slice(0, 4)}:${low.slice(4)}`,
  }
}
