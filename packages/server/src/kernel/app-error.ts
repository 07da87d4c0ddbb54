import type { AttemptReason, ErrorCode, ScimType, ToldDeviceStatus } from '@holdfast/contract/vocabulary'
import type { TenantId } from './actor.ts'
import type { RateLimit } from './rate-limit.ts'

export type FieldError = { field: string; message: string }

/** An error that a rule throws. Its code is one of the specification's eight; the transport maps it to a status. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly FieldError[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly deviceStatus: ToldDeviceStatus | undefined
  /** Error type for SCIM clients. */
  readonly scimType: ScimType | undefined
  /** True if the writer named a version that is not the current one. */
  readonly isStale: boolean
  /** Allowed methods of a path, for a request with another method. */
  readonly allow: readonly string[] | undefined
  /** Reason for refusing an enrollment token: for administrators, never in a response to a device. */
  attemptReason: AttemptReason | undefined
  /** Rate limit of the caller. */
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

/** 429 for a device over its rate limit. It names the device, because it is thrown before an actor exists. */
export class DeviceThrottled extends AppError {
  readonly device: ThrottledDevice
  constructor({ tenantId, deviceId, name }: ThrottledDevice, retryAfterSeconds: number, rateLimit: RateLimit) {
    super('rate_limited', tooManyOf('requests with this device', retryAfterSeconds), { retryAfterSeconds, rateLimit })
    this.device = { tenantId, deviceId, name }
  }
}
type ThrottledDevice = { readonly tenantId: TenantId; readonly deviceId: string; readonly name: string }

/** 429 for a limit on rate or concurrency. */
export const tooMany = (what: string, retryAfterSeconds: number, rateLimit?: RateLimit | undefined) =>
  new AppError('rate_limited', tooManyOf(what, retryAfterSeconds), { retryAfterSeconds, rateLimit })
const tooManyOf = (what: string, seconds: number) => `too many ${what}; retry in ${seconds} s`

export function fail(code: ErrorCode, detail: string): never {
  throw new AppError(code, detail)
}

/** Throws 422 for a maximum number that is reached. */
export function failMaximum(what: string, advice: string): never {
  fail('validation_error', `${what}, which is the maximum: ${advice}`)
}

/** Throws 422 for a field that breaks a rule. */
export function failField(field: string, message: string): never {
  throw new AppError('validation_error', `${field}: ${message}`, { errors: [{ field, message }] })
}

/** The same error for every 401. It does not say which part of the credential failed. */
export const badCredentials = (deviceStatus?: ToldDeviceStatus) =>
  new AppError('unauthorized', 'missing or invalid credentials', { deviceStatus })
/** @param cause reason for the audit event; not part of the response */
export function unauthorized(cause?: unknown): never {
  throw new AppError('unauthorized', badCredentials().message, { cause })
}
