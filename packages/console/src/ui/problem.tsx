import type { ReactNode } from 'react'
import { ApiError } from '../api/api-error.ts'
import { useCan } from '../api/me.ts'
import { goToSignIn } from '../api/sign-in.ts'
import { Button, ButtonLink } from './button.tsx'
import { CopyButton, CopyId } from './copy.tsx'
import { useCountdown } from './countdown.ts'
import { formatClock } from './format-time.ts'
import { Note } from './note.tsx'
import { useTimeZone } from './time-zone.ts'

type ProblemProps = {
  error: Error
  /** Sends the request again. The page also does so by itself 10 s after a failure. */
  retry: () => unknown
  /** Name of the missing data in a sentence: `API keys`, `this device`. */
  what: string
  /** Time at which the rows below were read, in ms since 1970. */
  asOf?: number | undefined
  /** Link after a 404, for example to the list. */
  elsewhere?: ReactNode
}

/**
 * Explains a failed read, and how to proceed. A failed change has `ChangeProblem`.
 *
 * @example {query.error && <Problem error={query.error} retry={query.refetch} what="devices" />}
 */
export function Problem(props: ProblemProps) {
  const { error } = props
  if (!(error instanceof ApiError)) return <ServerProblem {...props} />
  if (error.code === 'unauthorized') return <SignedOut />
  if (error.code === 'forbidden') return <Forbidden {...props} detail={error.detail} />
  if (error.code === 'not_found') return <NotFound {...props} />
  if (error.code === 'entitlement_exceeded') return <LimitReached detail={error.detail} />
  if (error.code === 'rate_limited') return <TooMany error={error} retry={props.retry} />
  if (error.code === 'validation_error' || error.code === 'bad_request') return <Refused error={error} />
  return <ServerProblem {...props} />
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
export const sentence = (text: string) => (/[.!?]$/.test(text) ? capital(text) : `${capital(text)}.`)

export const SignedOut = () => (
  <Note kind="info" icon="lock" title="Your session has ended." role="alert">
    <p>
      <button type="button" className="btn link" onClick={goToSignIn}>
        Sign in again
      </button>{' '}
      to continue here.
    </p>
  </Note>
)

function Forbidden({ what, detail }: ProblemProps & { detail: string }) {
  const permission = /\b[a-z_]+:[a-z_]+\b/.exec(detail)?.[0]
  if (permission) return <NoPermission what={what} permission={permission} />
  return (
    <div className="blank">
      <h3>You cannot see {what}</h3>
      <p>{sentence(detail)}</p>
    </div>
  )
}

type NoPermissionProps = { what: string; permission: string }

/**
 * Names the permission that a view needs, and offers a request to an administrator.
 *
 * @example <NoPermission what="API keys" permission="api_keys:read" />
 */
export function NoPermission({ what, permission }: NoPermissionProps) {
  const request = `Please grant me the permission ${permission}: I cannot see ${what} at ${window.location.href}`
  return (
    <div className="blank">
      <h3>You cannot see {what}</h3>
      <p>
        That needs the permission <code>{permission}</code>. An administrator can grant it.
      </p>
      <div className="acts">
        <CopyButton text={request} label="Copy request" />
      </div>
    </div>
  )
}

const NotFound = ({ what, elsewhere }: ProblemProps) => (
  <div className="blank">
    <h3>{capital(what)} was not found</h3>
    <p>It was deleted, or belongs to another tenant.</p>
    {elsewhere && <div className="acts">{elsewhere}</div>}
  </div>
)

export function LimitReached({ detail }: { detail: string }) {
  const canSeePlan = useCan()('operations:read')
  return (
    <Note
      kind="warn"
      role="alert"
      title={sentence(detail)}
      actions={
        canSeePlan && (
          <ButtonLink to="/admin#plan" size="sm" kind="ghost">
            Show plan usage
          </ButtonLink>
        )
      }
    >
      Nothing was changed. Remove unused objects, or upgrade the plan.
    </Note>
  )
}

function TooMany({ error, retry }: { error: ApiError; retry: () => unknown }) {
  const seconds = error.retryAfterSeconds ?? 5
  const left = useCountdown(seconds, error, retry) ?? 0
  const clock = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
  return (
    <Note
      icon="clock"
      title={`Too many requests. The server takes the next one in ${seconds} s.`}
      role="status"
      actions={
        <span className="num soft" aria-hidden="true">
          {clock}
        </span>
      }
    >
      The page tries again automatically.
    </Note>
  )
}

export const Refused = ({ error }: { error: ApiError }) => (
  <Note kind="bad" title={sentence(error.detail)} role="alert">
    {error.errors.length > 0 && <ErrorList errors={error.errors} />}
  </Note>
)

/** Time from a failure to the next request of the page. */
const retryAfterSeconds = 10

function ServerProblem({ error, retry, what, asOf }: ProblemProps) {
  const zone = useTimeZone()
  const isOffline = error instanceof ApiError && error.code === 'offline'
  const rows = asOf === undefined ? '' : ` Showing the state of ${formatClock(new Date(asOf).toISOString(), zone)}.`
  const fact = isOffline ? 'No answer from the server.' : `The server could not answer for ${what}.`
  return (
    <Note
      kind="bad"
      icon={isOffline ? 'offline' : 'bad'}
      role="alert"
      title={`${fact}${rows}`}
      actions={
        <Button size="sm" busyLabel="Asking…" onClick={retry}>
          Retry now
        </Button>
      }
    >
      <Retrying error={error} retry={retry} />
      {!isOffline && <FailureDetail error={error} />}
    </Note>
  )
}

/** Sentence of the server, and the id of the request, which is in the server's log too. */
export function FailureDetail({ error }: { error: Error }) {
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <>
      <p className="xs">{sentence(error.message)}</p>
      {requestId && (
        <p className="xs row tight">
          Request <CopyId id={requestId} />
        </p>
      )}
    </>
  )
}

function Retrying({ error, retry }: Pick<ProblemProps, 'error' | 'retry'>) {
  const left = useCountdown(retryAfterSeconds, error, retry)
  return <p aria-hidden="true">{left === undefined ? 'Asking again…' : `Retrying in ${left} s.`}</p>
}

type Errors = readonly { field: string; message: string }[]
const ErrorList = ({ errors }: { errors: Errors }) => (
  <ul>
    {errors.map(({ field, message }) => (
      <li key={`${field} ${message}`}>
        <code>{field}</code> {message}
      </li>
    ))}
  </ul>
)

/**
 * Errors of a form that belong to none of its fields. Errors of fields are under the fields (`errorOf`).
 *
 * @example <FieldErrors error={mutation.error} fields={['name', 'max_uses']} />
 */
export function FieldErrors({ error, fields = [] }: { error: Error | null; fields?: readonly string[] | undefined }) {
  if (!(error instanceof ApiError)) return null
  const others = error.errors.filter(({ field }) => !fields.includes(topOf(field)))
  if (others.length === 0) return null
  return (
    <Note kind="bad" role="alert" title="Some values were refused.">
      <ErrorList errors={others} />
    </Note>
  )
}
const topOf = (field: string) => field.split(/[.[]/)[0] ?? field

/**
 * Returns the API error of a form field, or undefined.
 *
 * @example <TextField label="Name" error={errorOf(mutation.error, 'name')} … />
 */
export const errorOf = (error: Error | null, field: string): string | undefined =>
  error instanceof ApiError ? error.errors.find((e) => topOf(e.field) === field)?.message : undefined
