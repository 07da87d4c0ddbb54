import type { Problem } from '../../editor/document.ts'
import { Button } from '../../ui/button.tsx'
import { formatCount } from '../../ui/format.ts'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import type { Validation } from './validation.ts'

/** Problems listed at once. */
const listed = 20

type Props = {
  validation: Validation
  fixOf: (problem: Problem) => { label: string; apply: () => unknown } | undefined
  onShow: (problem: Problem) => void
}

/** Problems of the draft, and the results of its tests. */
export function ProblemsBar({ validation: { problems, answer, error, isChecking, checkedAt }, fixOf, onShow }: Props) {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const tests = answer?.tests
  return (
    <section className="problems" aria-label="Problems">
      <div className="row wrap" role="status">
        {errors > 0 ? (
          <Status kind="bad">{formatCount(errors, 'problem')}</Status>
        ) : (
          <Status kind={isChecking || error ? 'ring' : 'ok'}>
            {error ? 'Not checked' : isChecking ? 'Checking…' : 'No problem'}
          </Status>
        )}
        {warnings > 0 && <Status kind="warn">{formatCount(warnings, 'warning')}</Status>}
        {tests && tests.passed + tests.failed > 0 && (
          <Status kind={tests.failed > 0 ? 'bad' : 'ok'}>
            {tests.passed} of {tests.passed + tests.failed} tests pass
          </Status>
        )}
        {error && <span className="soft">{error.detail}</span>}
        {checkedAt > 0 && !error && (
          <span className="push faint xs">
            checked by the server at <Timestamp at={new Date(checkedAt).toISOString()} as="clock" />
          </span>
        )}
      </div>
      {problems.length > 0 && (
        <ul>
          {problems.slice(0, listed).map((problem) => {
            const fix = fixOf(problem)
            return (
              <li key={`${problem.from} ${problem.message}`}>
                <span className={problem.severity === 'error' ? 'd bad' : 'd warn'} />
                <span>
                  {problem.field !== '' && (
                    <button type="button" className="linklike mono" onClick={() => onShow(problem)}>
                      {problem.field}
                    </button>
                  )}{' '}
                  {problem.message}
                </span>
                {fix && (
                  <Button size="sm" onClick={fix.apply}>
                    {fix.label}
                  </Button>
                )}
              </li>
            )
          })}
          {problems.length > listed && <li className="soft">and {problems.length - listed} more</li>}
        </ul>
      )}
    </section>
  )
}
