import { endOn, type Variant } from '@holdfast/policy'
import type { FleetDevice } from '../../devices/index.ts'
import type { TenantPolicy } from '../../policy/index.ts'

/**
 * Variant of a device in a pool, and its end if only time passes (ms; Infinity: none). `next`: the next time at which
 * the passing of time changes the peer, for example the end of a replaced key.
 */
export type PoolAccess = { readonly variant: Variant; readonly until: number; readonly next: number }

/**
 * Returns a device's access to a pool at a time. It ends with the device's credential, the posture of its variant, or
 * the last rule through the pool. Time windows of rules are part of the variant; the gateway applies them.
 */
export function poolAccessOf(
  policy: TenantPolicy,
  device: FleetDevice,
  pool: string,
  at: number,
): PoolAccess | undefined {
  if (!device.usable || device.credentialUntil <= at) return undefined
  const { variant, validUntil } = policy.selectionOf(device, at)
  const end = endOn(variant.content, pool)
  if (end <= at) return undefined
  const until = Math.min(device.credentialUntil, end, validUntil ?? Number.POSITIVE_INFINITY)
  const keyEnd = device.previousWireguardKey?.until ?? 0
  return { variant, until, next: keyEnd > at ? Math.min(keyEnd, until) : until }
}
