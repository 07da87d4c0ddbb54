import { useState } from 'react'
import { call, type OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { announce } from '../../ui/announce.ts'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { formatNumber } from '../../ui/format.ts'
import { NoPermission } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import type { User } from '../users/words.ts'

type Answer = OutputOf<'POST /v1/admin/policy/simulate'>['answers'][number]
type Found = { answers: readonly Answer[]; version: number; left: number }

/** Most questions of one request. */
const mostQuestions = 200

/** Asks for each resource and host of the stable policy whether the user reaches it. */
export function AllTargets({ user }: { user: User }) {
  const can = useCan()
  const [found, setFound] = useState<Found | 'no policy'>()
  const [error, setError] = useState<Error>()
  if (!can('policy:read')) return <NoPermission what="the policy" permission="policy:read" />
  const ask = async () => {
    setError(undefined)
    try {
      const answer = await askAll(user.user_id)
      setFound(answer)
      announce(sentenceOf(answer))
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <div className="stack">
      <div className="row wrap">
        <Button size="sm" busyLabel="Asking…" onClick={ask}>
          Check all resources
        </Button>
        <span className="soft xs">This question takes the server longer than others.</span>
      </div>
      {error && <ChangeProblem error={error} />}
      {found && <Targets found={found} />}
    </div>
  )
}

function Targets({ found }: { found: Found | 'no policy' }) {
  if (found === 'no policy' || found.answers.length === 0) return <p className="soft">{sentenceOf(found)}</p>
  return (
    <>
      <p>{sentenceOf(found)}</p>
      <Table columns={columns} rows={found.answers} keyOf={({ target }) => target} />
    </>
  )
}

function sentenceOf(found: Found | 'no policy'): string {
  if (found === 'no policy') return 'No policy is published, so nothing can be reached.'
  const { answers, version, left } = found
  if (answers.length === 0) return 'The policy names no resource and no host.'
  const reached = answers.filter(({ before }) => before.decision === 'allow').length
  const whole = `${formatNumber(reached)} of ${formatNumber(answers.length)} can be reached, by stable v${version}.`
  return left > 0 ? `${whole} ${formatNumber(left)} more were not asked.` : whole
}

const columns: readonly TableColumn<Answer>[] = [
  { label: 'Target', cell: ({ target }) => <code>{target}</code> },
  {
    label: 'Access',
    cell: ({ before: { decision } }) => (
      <Status kind={decision === 'allow' ? 'ok' : 'off'}>{decision === 'allow' ? 'reached' : 'not reached'}</Status>
    ),
  },
  { label: 'Rule', className: 'p2', cell: ({ before: { rule_id } }) => (rule_id ? <code>{rule_id}</code> : '–') },
  { label: 'Why', className: 'p3', cell: ({ before: { reason } }) => <span className="soft">{reason}</span> },
]

/**
 * Returns the decisions of the published stable policy. The API has no question for all targets: a simulation of the
 * same document answers many questions, each with the decision before it.
 */
async function askAll(user_id: string): Promise<Found | 'no policy'> {
  const { items } = await call('GET /v1/admin/policy', { query: { channel: 'stable', limit: 1 } })
  const [newest] = items
  if (!newest) return 'no policy'
  const { policy } = await call('GET /v1/admin/policy/{bundle_id}', { params: { bundle_id: newest.bundle_id } })
  const targets = [...Object.keys(policy.resources ?? {}), ...Object.keys(policy.hosts ?? {})]
  if (targets.length === 0) return { answers: [], version: newest.version, left: 0 }
  const questions = targets.slice(0, mostQuestions).map((target) => ({ user_id, target }))
  const { answers } = await call('POST /v1/admin/policy/simulate', { body: { policy, questions } as never })
  return { answers, version: newest.version, left: targets.length - questions.length }
}
