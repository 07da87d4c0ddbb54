import { ApiError } from '../api/api-error.ts'
import { Note } from './note.tsx'
import { FailureDetail, LimitReached, Refused, SignedOut, sentence } from './problem.tsx'

/**
 * Explains the failure of a change. The button of the change stays beside it: a change is never retried by itself.
 *
 * @example {error && <ChangeProblem error={error} />}
 */
export function ChangeProblem({ error }: { error: Error }) {
  if (!(error instanceof ApiError)) return <Note kind="bad" role="alert" title={sentence(error.message)} />
  const { code, detail } = error
  if (code === 'unauthorized') return <SignedOut />
  if (code === 'entitlement_exceeded') return <LimitReached detail={detail} />
  if (code === 'validation_error' || code === 'bad_request') return <Refused error={error} />
  return (
    <Note kind="bad" role="alert" icon={code === 'offline' ? 'offline' : 'bad'} title={factOf(error)}>
      {code === 'offline' ? (
        <p>The change may have been made. Look at it again before you repeat it.</p>
      ) : (
        <FailureDetail error={error} />
      )}
    </Note>
  )
}

function factOf({ code, retryAfterSeconds = 5 }: ApiError): string {
  if (code === 'forbidden') return 'You do not have the permission. Nothing was changed.'
  if (code === 'not_found') return 'The object does not exist any more. Nothing was changed.'
  if (code === 'rate_limited') return `Nothing was changed. Try again in ${retryAfterSeconds} s.`
  return code === 'offline' ? 'No answer from the server.' : 'The server could not do this.'
}
