import { endOn, type Variant } from '@holdfast/policy'
import type { FleetDevice } from '../../devices/index.ts'
import type { TenantPolicy } from '../../policy/index.ts'

/**
 * Under which variant a device may use a pool, and until when if nothing but time passes (ms; Infinity: for good).
 * `next`: when time changes what is said of it, be it the end of a key that was replaced.
 */
export type PoolAccess = { readonly variant: Variant; readonly until: number; readonly next: number }

/**
 * What a pool's gateways are told of a device, as of a moment. It ends with the device's credential, with the posture
 * that its variant rests on, and with the last of its rules that leads through the pool. Time windows within the rules
 * are left to the gateway, which finds them in the variant.
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
