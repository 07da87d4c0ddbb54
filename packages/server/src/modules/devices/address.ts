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
  const prefix = createHash('sha256').update(tenant).digest('hex')
  const group = (start: number, end: number) => Number.parseInt(prefix.slice(start, end), 16).toString(16)
  const [high, low] = [number >>> 16, number & 0xffff]
  return {
    ipv4: [24, 16, 8, 0].map((shift) => (v4 >>> shift) & 255).join('.'),
    // As RFC 5952 spells it.
    ipv6: `fd${prefix.slice(0, 2)}:${group(2, 6)}:${group(6, 10)}::${high > 0 ? `${high.toString(16)}:` : ''}${low.toString(16)}`,
  }
}
