import type { ReactNode } from 'react'
import { ApiError } from '../api/api-error.ts'
import { Button, ButtonLink } from './button.tsx'
import { CopyButton, CopyId } from './copy.tsx'
import { useCountdown } from './countdown.ts'
import { formatClock } from './format-time.ts'
import { Note } from './note.tsx'
import { useTimeZone } from './time-zone.ts'

type ProblemProps = {
  error: Error
  /** Asks the server again. */
  retry: () => unknown
  /** What is not there, as it stands in a sentence: `API keys`, `this device`. */
  what: string
  /** When the rows were read that still stand below, in milliseconds since 1970. */
  asOf?: number | undefined
  /** Asks again by itself after ten seconds. Never for a change; on where `asOf` is given. */
  isRead?: boolean | undefined
  /** The tenant that the page looks at. */
  tenantName?: string | undefined
  /** The role of the person, for example `Auditor`. */
  roleName?: string | undefined
  /** Where the person goes on from a 404, for example the list. */
  elsewhere?: ReactNode
}

/**
 * Says why something is not shown or was not done, and how to go on.
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
const sentence = (text: string) => (/[.!?]$/.test(text) ? capital(text) : `${capital(text)}.`)

function SignedOut() {
  const here = `${window.location.pathname}${window.location.search}`
  return (
    <Note kind="info" icon="lock" title="Your session has ended." role="alert">
      <p>
        <a href={`/admin/login?next=${encodeURIComponent(here)}`}>Sign in again</a> to go on here.
      </p>
    </Note>
  )
}

function Forbidden({ what, roleName, detail }: ProblemProps & { detail: string }) {
  const permission = /\b[a-z_]+:[a-z_]+\b/.exec(detail)?.[0]
  if (permission) return <NoPermission what={what} permission={permission} roleName={roleName} />
  return (
    <div className="blank">
      <h3>You cannot see {what}</h3>
      <p>{sentence(detail)}</p>
    </div>
  )
}

type NoPermissionProps = { what: string; permission: string; roleName?: string | undefined }

/**
 * What stands in a view that the person may not see, and what to ask an administrator for.
 *
 * @example <NoPermission what="API keys" permission="api_keys:read" roleName="Auditor" />
 */
export function NoPermission({ what, permission, roleName }: NoPermissionProps) {
  const request = `Please grant me the permission ${permission}: I cannot see ${what} at ${window.location.href}`
  return (
    <div className="blank">
      <h3>You cannot see {what}</h3>
      <p>
        That needs the permission <code>{permission}</code>.{' '}
        {roleName && (
          <>
            Your role here is <b className="strong">{roleName}</b>.{' '}
          </>
        )}
        An administrator can grant it.
      </p>
      <div className="acts">
        <CopyButton text={request} label="Copy request" />
      </div>
    </div>
  )
}

function NotFound({ what, tenantName, elsewhere }: ProblemProps) {
  return (
    <div className="blank">
      <h3>{capital(what)} is not here</h3>
      <p>
        It was deleted, or belongs to another tenant.
        {tenantName && (
          <>
            {' '}
            You are in <b className="strong">{tenantName}</b>.
          </>
        )}
      </p>
      {elsewhere && <div className="acts">{elsewhere}</div>}
    </div>
  )
}

const LimitReached = ({ detail }: { detail: string }) => (
  <Note
    kind="warn"
    role="alert"
    title={sentence(detail)}
    actions={
      <ButtonLink to="/admin/license" size="sm" kind="ghost">
        License & usage
      </ButtonLink>
    }
  >
    Nothing was changed. Free some of it, or raise the plan.
  </Note>
)

function TooMany({ error, retry }: { error: ApiError; retry: () => unknown }) {
  const seconds = error.retryAfterSeconds ?? 5
  const left = useCountdown(seconds, error, retry) ?? 0
  const clock = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
  return (
    <Note
      icon="clock"
      title={`Slow down: the server takes the next request in ${seconds} s.`}
      role="status"
      actions={
        <span className="num soft" aria-hidden="true">
          {clock}
        </span>
      }
    >
      It is sent again by itself. Nothing you typed is lost.
    </Note>
  )
}

const Refused = ({ error }: { error: ApiError }) => (
  <Note kind="bad" title={sentence(error.detail)} role="alert">
    {error.errors.length > 0 && <ErrorList errors={error.errors} />}
  </Note>
)

/** How long after a failure the page asks again by itself. */
const retryAfterSeconds = 10

function ServerProblem({ error, retry, what, asOf, isRead = asOf !== undefined }: ProblemProps) {
  const zone = useTimeZone()
  const isOffline = error instanceof ApiError && error.code === 'offline'
  const requestId = error instanceof ApiError ? error.requestId : undefined
  const rows =
    asOf === undefined ? '' : ` Showing what was there at ${formatClock(new Date(asOf).toISOString(), zone)}.`
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
      {isRead && <Retrying error={error} retry={retry} />}
      {!isOffline && error instanceof ApiError && <p className="xs">{sentence(error.detail)}</p>}
      {requestId && (
        <p className="xs row tight">
          Request <CopyId id={requestId} />
        </p>
      )}
    </Note>
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
 * The errors of a form that belong to no field of it. Those of its fields stand under them (`errorOf`).
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
 * The sentence that the API has for a field of a form, or undefined.
 *
 * @example <TextField label="Name" error={errorOf(mutation.error, 'name')} … />
 */
export const errorOf = (error: Error | null, field: string): string | undefined =>
  error instanceof ApiError ? error.errors.find((e) => topOf(e.field) === field)?.message : undefined
