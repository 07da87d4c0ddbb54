import { backchannelLogoutBase } from '@holdfast/contract/federation-logout'
import { scimBase, scimMediaType, scimUrns } from '@holdfast/contract/scim-shapes'
import { type ErrorCode, errorStatus, type ScimType } from '@holdfast/contract/vocabulary'
import type { AppError } from '../../kernel/app-error.ts'

const json = 'application/json; charset=utf-8'
const scim = `${scimMediaType}; charset=utf-8`

/** The path decides, since a refused request may not have reached an endpoint. */
const speaksScim = (url: string): boolean => url.startsWith(`${scimBase}/`)
const speaksOAuth = (url: string): boolean => url.startsWith(`${backchannelLogoutBase}/`)

export const mediaTypeOf = (url: string): string => (speaksScim(url) ? scim : json)

type Refusal = { status: number; contentType: string; body: object }

/** Formats an error in the protocol of the path. */
export function refusalOf(url: string, error: AppError, requestId: string): Refusal {
  const inOAuth = speaksOAuth(url) && oauthRefusalOf(error)
  if (inOAuth) return inOAuth
  if (!speaksScim(url))
    return {
      status: errorStatus[error.code],
      contentType: json,
      body: errorBody(error.code, error.message, requestId, error.errors),
    }
  const status = scimStatusOf(error)
  const scimType = status === 400 || status === 409 ? (error.scimType ?? usualType[error.code]) : undefined
  const body = {
    schemas: [scimUrns.error],
    status: String(status),
    ...(scimType && { scimType }),
    detail: error.message,
  }
  return { status, contentType: scim, body }
}

/** RFC 6749 §5.2. Undefined for errors outside this protocol, such as 401 of an unknown route. */
function oauthRefusalOf({ code, message }: AppError): Refusal | undefined {
  const known = oauthErrors[code]
  if (!known) return undefined
  const [status, error] = known
  return { status, contentType: json, body: { error, error_description: message } }
}
const invalidRequest = [errorStatus.bad_request, 'invalid_request'] as const
const oauthErrors: Partial<Record<ErrorCode, readonly [status: number, error: string]>> = {
  bad_request: invalidRequest,
  validation_error: invalidRequest,
  forbidden: invalidRequest,
  rate_limited: [errorStatus.rate_limited, 'temporarily_unavailable'],
  internal_error: [errorStatus.internal_error, 'server_error'],
}

/** Status by RFC 7644 §3.12. */
function scimStatusOf({ code, scimType, isStale, allow }: AppError): number {
  if (isStale) return 412
  if (allow) return 405
  if (scimType === 'uniqueness') return 409
  return code === 'validation_error' ? 400 : errorStatus[code]
}
const usualType: Partial<Record<ErrorCode, ScimType>> = {
  bad_request: 'invalidSyntax',
  validation_error: 'invalidValue',
}

const errorBody = (error: ErrorCode, detail: string, requestId: string, errors?: AppError['errors']) => ({
  error,
  detail,
  request_id: requestId,
  ...(errors && { errors }),
})
