import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

type Step = {
  id: string
  title: ReactNode
  /** `waiting`: the next move is outside the console; the mark is half filled. */
  state: 'done' | 'now' | 'waiting' | 'failed' | 'later'
  children?: ReactNode
  /** Duration or link, at the right. */
  aside?: ReactNode
}
const marks = { done: 'check', failed: 'x' } as const
const words = { done: 'done', now: 'under way', waiting: 'waiting', failed: 'failed', later: 'not yet' } as const

/**
 * Steps in their order: a ring with the number, filled for the current step, a tick when done, red when failed.
 *
 * @example <Steps steps={[{ id: 'make', title: 'Token made', state: 'done' }, …]} />
 */
export const Steps = ({ steps }: { steps: readonly Step[] }) => (
  <ol className="steps">
    {steps.map(({ id, title, state, children, aside }, place) => (
      <li
        key={id}
        className={classes('step', state === 'waiting' ? 'now2' : state !== 'later' && state)}
        aria-current={state === 'now' ? 'step' : undefined}
      >
        <span className="n">
          <StepMark state={state} place={place} />
          <span className="vh">, {words[state]}</span>
        </span>
        <div className="what">
          <b>{title}</b>
          {children}
        </div>
        <div className="when">{aside}</div>
      </li>
    ))}
  </ol>
)

function StepMark({ state, place }: { state: Step['state']; place: number }) {
  if (state === 'done' || state === 'failed') return <Icon name={marks[state]} size="s" />
  return state === 'waiting' ? <span className="d half" /> : place + 1
}
