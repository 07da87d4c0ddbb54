import type { AttemptReason, ErrorCode, ScimType, ToldDeviceStatus } from '@holdfast/contract/vocabulary'
import type { TenantId } from './actor.ts'
import type { RateLimit } from './rate-limit.ts'

export type FieldError = { field: string; message: string }

/** What a rule throws. Its code is one of the specification's eight; the status is a look-up made by the transport. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly deviceStatus: ToldDeviceStatus | undefined
  /** What kind of wrong it is, for who speaks SCIM. */
  readonly scimType: ScimType | undefined
  /** The version that the writer named is not the current one. */
  readonly isStale: boolean
  /** The methods that a path takes, where another one was asked. */
  readonly allow: readonly string[] | undefined
  /** Why the use of an enrollment token was refused: for its administrators, never in an answer to a device. */
  attemptReason: AttemptReason | undefined
  /** How often whoever asks may ask. */
  readonly rateLimit: RateLimit | undefined
  constructor(
    code: ErrorCode,
    detail: string,
    more: {
      errors?: readonly FieldError[]
      retryAfterSeconds?: number
      deviceStatus?: ToldDeviceStatus | undefined
      scimType?: ScimType
      isStale?: boolean
      allow?: readonly string[] | undefined
      rateLimit?: RateLimit | undefined
      cause?: unknown
    } = {},
  ) {
    super(detail, { cause: more.cause })
    this.code = code
    this.errors = more.errors
    this.retryAfterSeconds = more.retryAfterSeconds
    this.deviceStatus = more.deviceStatus
    this.scimType = more.scimType
    this.isStale = more.isStale ?? false
    this.allow = more.allow
    this.rateLimit = more.rateLimit
  }
}

/** 429 for a device that asks more often than it may. It names the device, because it is thrown before an actor exists. */
export class DeviceThrottled extends AppError {
  readonly device: ThrottledDevice
  constructor({ tenantId, deviceId, name }: ThrottledDevice, retryAfterSeconds: number, rateLimit: RateLimit) {
    super('rate_limited', 'too many requests with this device', { retryAfterSeconds, rateLimit })
    this.device = { tenantId, deviceId, name }
  }
}
type ThrottledDevice = { readonly tenantId: TenantId; readonly deviceId: string; readonly name: string }

export function fail(code: ErrorCode, detail: string): never {
  throw new AppError(code, detail)
}

/** 422 that names the field which breaks a rule. */
export function failField(field: string, message: string): never {
  throw new AppError('validation_error', `${field}: ${message}`, { errors: [{ field, message }] })
}

/** The one sentence of every 401: it does not say which part of the credential failed. */
export const badCredentials = (deviceStatus?: ToldDeviceStatus) =>
  new AppError('unauthorized', 'missing or invalid credentials', { deviceStatus })
/** @param cause why, for the audit event; the answer does not say it. */
export function unauthorized(cause?: unknown): never {
  throw new AppError('unauthorized', badCredentials().message, { cause })
}
