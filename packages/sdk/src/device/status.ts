import { deviceStatusHeader } from '@holdfast/contract/vocabulary'
import { ApiError } from '../errors.ts'
import type { Reply } from '../send.ts'

/**
 * Status of a device at its control plane. In each status the policy stays in force until it expires.
 * - `active`: the server answers.
 * - `pending`: the server answers, and the device waits for an administrator's approval; until then it reaches nothing.
 * - `suspended`: the device or its user is suspended, and may be reactivated.
 * - `refused`: the credential is refused without a reason: it may have been renewed elsewhere, or a clock is wrong.
 * - `unreachable`: there is no answer, or none that can be verified.
 */
export type DeviceStatus = {
  status: 'active' | 'pending' | 'suspended' | 'refused' | 'unreachable'
  /** Start of this status. */
  since: Date
  /** The error, if there was one. */
  error?: unknown
}

/** The device has ended for good. It must enroll again. */
export type DeviceEnd = 'revoked' | 'credential_expired'

const sentences: Record<DeviceEnd, string> = {
  revoked: 'the device was revoked, which is final: enroll it again',
  credential_expired: 'the credential has expired and can no longer be renewed: enroll the device again',
}

/** The device's final end, with its reason in `code`. */
export class DeviceEndedError extends Error {
  override readonly name = 'DeviceEndedError'
  readonly code: DeviceEnd

  constructor(code: DeviceEnd, options?: ErrorOptions) {
    super(sentences[code], options)
    this.code = code
  }
}

/** Reads the device's status from a successful response. */
export const standingOf = ({ headers }: Reply<unknown>): 'active' | 'pending' =>
  headers[deviceStatusHeader] === 'pending' ? 'pending' : 'active'

/** Returns the device's status after an error, or its final end. */
export function statusOfFailure(
  e: unknown,
  { expiresAt, now }: { expiresAt: Date; now: Date },
): Exclude<DeviceStatus['status'], 'active' | 'pending'> | DeviceEnd {
  if (!(e instanceof ApiError && e.status === 401)) return 'unreachable'
  if (e.deviceStatus === 'revoked' || e.deviceStatus === 'suspended') return e.deviceStatus
  return now >= expiresAt ? 'credential_expired' : 'refused'
}
