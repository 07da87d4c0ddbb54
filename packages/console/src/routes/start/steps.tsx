import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useCan, useMe } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { CommandLine } from '../../ui/code-block.tsx'
import { Steps } from '../../ui/steps.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'
import { isEnrolling, isOpen, type StartStep, stepWords } from './words.ts'

/** Steps with instructions for each, and a button to skip one. */
export function StartSteps({ steps, isComplete }: { steps: readonly StartStep[]; isComplete: boolean }) {
  const [error, setError] = useState<Error>()
  const next = steps.find(isOpen)
  const enrolling = steps.find((step) => isEnrolling(step) && isOpen(step))
  const dismiss = async (step: StartStep, dismissed: boolean) => {
    setError(undefined)
    try {
      await call('POST /v1/admin/start/dismiss', { body: { step: step.step, dismissed } })
      await queryClient.invalidateQueries({ queryKey: ['GET /v1/admin/start'] })
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <section className="frame" aria-label="Steps">
      <div className="in">
        {error && <ChangeProblem error={error} />}
        <Steps
          steps={steps.map((step) => ({
            id: step.step,
            title: stepWords[step.step].title,
            state: step.done ? ('done' as const) : step === next ? ('now' as const) : ('later' as const),
            aside: step.done ? (
              step.since && <Timestamp at={step.since} />
            ) : (
              <Skip step={step} onDismiss={(dismissed) => dismiss(step, dismissed)} />
            ),
            children: <HowTo step={step} isNext={step === next} hasButton={step === enrolling} />,
          }))}
        />
      </div>
      <footer>
        <span>
          {isComplete
            ? 'Each step is done or skipped. Home no longer shows this list.'
            : 'Skip what you do not need. Home shows this list until each step is done or skipped.'}
        </span>
      </footer>
    </section>
  )
}

type SkipProps = { step: StartStep; onDismiss: (dismissed: boolean) => Promise<void> }

function Skip({ step, onDismiss }: SkipProps) {
  const can = useCan()
  if (!can('settings:write')) return step.dismissed && <span className="soft">skipped</span>
  const { title } = stepWords[step.step]
  return (
    <button
      type="button"
      className="btn link"
      aria-label={step.dismissed ? `Put back: ${title}` : `Skip: ${title}`}
      onClick={() => void onDismiss(!step.dismissed)}
    >
      {step.dismissed ? 'Skipped. Put back' : 'Skip'}
    </button>
  )
}

type HowToProps = {
  step: StartStep
  isNext: boolean
  /** True for the first open step of enrolling: one sheet does both steps. */
  hasButton: boolean
}

function HowTo({ step, isNext, hasButton }: HowToProps) {
  const can = useCan()
  const { text, to, commands = [] } = stepWords[step.step]
  return (
    <>
      <span className="soft">{text}</span>
      {isOpen(step) && (
        <>
          {step.step === 'sign_in' && <SignInLinks />}
          {hasButton && (
            <span className="row wrap up">
              <EnrollButton label="Enroll the first device" kind={isNext ? 'primary' : 'plain'} />
            </span>
          )}
          {to && can(to.permission) && <AppLink to={to.path}>{to.label}</AppLink>}
          {!isEnrolling(step) && commands.map((command) => <CommandLine key={command} text={command} />)}
        </>
      )}
    </>
  )
}

/** Link to the second factor, a page that the server renders. */
function SignInLinks() {
  const { user } = useMe()
  return user && <a href="/admin/second-factor">Add a second factor</a>
}
