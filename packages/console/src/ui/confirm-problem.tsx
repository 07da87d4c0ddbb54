import { useEffect } from 'react'
import { isOvertaken } from '../api/api-error.ts'
import { ChangeProblem } from './change-problem.tsx'
import { Note } from './note.tsx'

type Props = {
  error: Error
  /** Noun of the object: `user`. */
  noun: string
  /** Reads the newer version of the object. */
  reload: () => unknown
}

/**
 * Failure of a confirmed change. A newer version of the object is shown first. The button then changes that version.
 *
 * @example <Confirm … problem={error && <ConfirmProblem error={error} noun="user" reload={stored.refetch} />} />
 */
export function ConfirmProblem({ error, noun, reload }: Props) {
  const isOld = isOvertaken(error)
  useEffect(() => {
    if (isOld) void reload()
  }, [isOld, reload])
  if (!isOld) return <ChangeProblem error={error} />
  return (
    <Note kind="warn" role="alert" title={`Somebody else has changed this ${noun} in the meantime.`}>
      <p>Nothing was changed. The effects above are those of the new version. Press the button again to go on.</p>
    </Note>
  )
}
