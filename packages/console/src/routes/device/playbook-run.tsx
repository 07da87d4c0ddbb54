import { useEffect, useState } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { Note } from '../../ui/note.tsx'
import { Sheet } from '../../ui/sheet.tsx'
import { Steps } from '../../ui/steps.tsx'
import { Confirmations, confirmationOf } from './confirmations.tsx'
import type { Gateway } from './lost-device-preview.tsx'

type Run = OutputOf<'GET /v1/admin/workflows/runs/{workflow_run_id}'>
type Step = Run['steps'][number]
type Props = {
  /** Name of the device or user. */
  name: string
  words: {
    /** Titles while the playbook runs and after it: `Revoking pixel-25…`, `pixel-25 is revoked`. */
    busy: string
    done: string
    /** Sentence about a later release. */
    note: string
  }
  run: Run | undefined
  startedAt: number
  gateways: readonly Gateway[] | undefined
  onClose: () => void
}

/** Progress of the playbook: its steps, and the gateways that have confirmed. */
export function PlaybookRun({ name, words, run, startedAt, gateways, onClose }: Props) {
  const isOver = run?.finished_at != null
  const isDone = run?.status === 'succeeded'
  const seconds = useSeconds(startedAt, isOver)
  const title = isDone
    ? words.done
    : run?.status === 'failed'
      ? `${name}: a step failed`
      : run?.status === 'cancelled'
        ? `${name}: the run was cancelled`
        : words.busy
  return (
    <Sheet
      title={title}
      onClose={onClose}
      footer={
        <>
          <span className="soft grow">{words.note}</span>
          <Button kind="primary" autoFocus onClick={onClose}>
            {isOver ? 'Close' : 'Close, the run continues'}
          </Button>
        </>
      }
    >
      <p className="num" role="status">
        {sentenceOf(run)} <span className="soft">{seconds.toFixed(1)} s</span>
      </p>
      {run?.status === 'awaiting_approval' && (
        <Note kind="warn" title="A second person must approve this.">
          <p>It starts when another person approves the run.</p>
        </Note>
      )}
      {run && (
        <Steps
          steps={run.steps.map((step) => ({
            id: String(step.step),
            title: step.summary,
            state: stateOf(step),
            aside: tookOf(step),
            children: step.error ? (
              <p className="bad">{step.error}</p>
            ) : (
              step.action === 'confirm_gateways' && <Confirmations step={step} gateways={gateways} />
            ),
          }))}
        />
      )}
    </Sheet>
  )
}

const stateOf = ({ status }: Step) =>
  ({ pending: 'later', running: 'now', succeeded: 'done', failed: 'failed' })[status] as
    | 'later'
    | 'now'
    | 'done'
    | 'failed'

function tookOf({ started_at, finished_at }: Step): string {
  if (!started_at || !finished_at) return ''
  const ms = Date.parse(finished_at) - Date.parse(started_at)
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}

function sentenceOf(run: Run | undefined): string {
  if (!run) return 'Sent to the server.'
  if (run.status === 'failed') return 'Not every step was done. The steps below say why.'
  if (run.status === 'cancelled') return 'The run was cancelled. Steps without a tick were not done.'
  if (run.status === 'succeeded') return endOf(run)
  return run.steps.some((s) => s.action === 'confirm_gateways' && s.status === 'running')
    ? 'Waiting for the gateways.'
    : 'Working.'
}

function endOf({ steps }: Run): string {
  const step = steps.find(({ action }) => action === 'confirm_gateways')
  const found = step && confirmationOf(step)
  if (!found) return 'All steps are done.'
  if (found.confirmed > 0) return 'All reachable gateways confirmed.'
  return found.unreachable > 0 ? 'No gateway is reachable now.' : 'No gateway runs, so none had to confirm.'
}

/** Returns the seconds from the start to the end of the run. */
function useSeconds(startedAt: number, isOver: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    setNow(Date.now())
    if (isOver) return
    const timer = setInterval(() => setNow(Date.now()), 100)
    return () => clearInterval(timer)
  }, [isOver])
  return Math.max(0, now - startedAt) / 1000
}
