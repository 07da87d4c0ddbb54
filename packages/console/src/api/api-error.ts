import type { ErrorBody } from '@holdfast/contract/schema'

type Problem = {
  /** Status of HTTP; 0 where no answer came. */
  status: number
  code: ErrorBody['error'] | 'offline'
  detail: string
  errors?: readonly { field: string; message: string }[] | undefined
  requestId?: string | undefined
  retryAfterSeconds?: number | undefined
}

/** An answer of the API that is no success. */
export class ApiError extends Error {
  readonly status: number
  readonly code: Problem['code']
  readonly detail: string
  /** One sentence for each field that is wrong; empty unless the code is `validation_error`. */
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

/** Reads the error body of the specification; an answer of something else (a proxy) becomes `internal_error`. */
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
