import { deviceStatusHeader } from '@holdfast/contract/vocabulary'
import { ApiError } from './errors.ts'
import type { Reply } from './send.ts'

/**
 * How a device stands with its control plane. Its policy stays in force in each of these, until its own end.
 * - `active`: it is answered.
 * - `pending`: it is answered, and waits for an administrator's approval; until then it reaches nothing.
 * - `suspended`: it, or its user, is suspended, and may come back.
 * - `refused`: its credential is not accepted, and nobody says why: it may have been renewed elsewhere, or a clock is
 * wrong.
 * - `unreachable`: there is no answer, or one that can not be believed.
 */
export type DeviceStatus = {
  status: 'active' | 'pending' | 'suspended' | 'refused' | 'unreachable'
  /** When it began. */
  since: Date
  /** What went wrong, where something did. */
  error?: unknown
}

/** Why a device will never be answered again: it has to enroll anew. */
export type DeviceEnd = 'revoked' | 'credential_expired'

const sentences: Record<DeviceEnd, string> = {
  revoked: 'the device was revoked, which is final: it has to enroll again',
  credential_expired: 'the credential has expired and can not be renewed any more: the device has to enroll again',
}

/** The device's end, by name. */
export class DeviceEndedError extends Error {
  override readonly name = 'DeviceEndedError'
  readonly code: DeviceEnd

  constructor(code: DeviceEnd, options?: ErrorOptions) {
    super(sentences[code], options)
    this.code = code
  }
}

/** What a success says of the device beside its answer. */
export const standingOf = ({ headers }: Reply<unknown>): 'active' | 'pending' =>
  headers[deviceStatusHeader] === 'pending' ? 'pending' : 'active'

/** What a failure says of how the device stands; its end, where it is one. */
export function statusOfFailure(
  e: unknown,
  { expiresAt, now }: { expiresAt: Date; now: Date },
): Exclude<DeviceStatus['status'], 'active' | 'pending'> | DeviceEnd {
  if (!(e instanceof ApiError && e.status === 401)) return 'unreachable'
  if (e.deviceStatus === 'revoked' || e.deviceStatus === 'suspended') return e.deviceStatus
  return now >= expiresAt ? 'credential_expired' : 'refused'
}
