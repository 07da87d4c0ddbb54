import type { ErrorBody } from '@holdfast/contract/schema'

type Problem = {
  /** HTTP status; 0 if no response arrived. */
  status: number
  code: ErrorBody['error'] | 'offline'
  detail: string
  errors?: readonly { field: string; message: string }[] | undefined
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
}

/** Error response of the API. */
export class ApiError extends Error {
  readonly status: number
  readonly code: Problem['code']
  readonly detail: string
  /** One sentence for each invalid field; empty unless the code is `validation_error`. */
  readonly errors: readonly { field: string; message: string }[]
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(problem: Problem) {
    super(problem.detail)
    this.name = 'ApiError'
    this.status = problem.status
    this.code = problem.code
    this.detail = problem.detail
    this.errors = problem.errors ?? []
    this.requestId = problem.requestId
    this.retryAfterSeconds = problem.retryAfterSeconds
  }
}

/** True if a write with `If-Match` was refused because another person has changed the object. */
export const isOvertaken = (e: unknown): boolean =>
  e instanceof ApiError && e.errors.some(({ field }) => field === 'If-Match')

/** True if the same request may succeed later: no response, too many requests, or a failure of the server. */
export const isTransient = (e: unknown): e is ApiError =>
  e instanceof ApiError && (e.status === 0 || e.status === 429 || e.status >= 500)

/** Returns the sentence of a failure: the detail of the API, or the message of another error. */
export const messageOf = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/**
 * Returns the sentence for a form with one field: the error of the first field, else the message of the whole failure.
 */
export const fieldMessageOf = (e: unknown): string => (e instanceof ApiError && e.errors[0]?.message) || messageOf(e)

/** Reads the error body of the specification. The response of a proxy has no such body and becomes `internal_error`. */
export async function toApiError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => undefined)) as Partial<ErrorBody> | undefined
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ApiError({
    status: response.status,
    code: body?.error ?? 'internal_error',
    detail: body?.detail ?? `The server answered ${response.status}.`,
    errors: body?.errors,
    requestId: body?.request_id ?? response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}
