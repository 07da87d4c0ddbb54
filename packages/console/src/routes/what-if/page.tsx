import { useState } from 'react'
import { queryClient } from '../../api/query-client.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { FirstRun } from '../../ui/empty-state.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { Segment } from '../../ui/tabs.tsx'
import { AskForm } from './ask-form.tsx'
import { askedOf, type Question, questionOf, searchOf } from './question.ts'
import { SampleCard } from './sample-card.tsx'
import { useJudge, useJudges } from './use-judges.ts'
import { VerdictCard } from './verdict-card.tsx'
import { WhoCard } from './who-card.tsx'

/** B17: whether a device or user reaches a target, and who reaches it, under any version of the policy. */
export function Page() {
  const question = questionOf(useSearch())
  const { change } = useNavigation()
  const judges = useJudges()
  const { error, refetch, data } = judges.query
  const ask = (next: Question) => {
    change(searchOf(next))
    // The same question again is a new question.
    void queryClient.invalidateQueries({
      predicate: ({ queryKey: [name] }) => String(name).startsWith('POST /v1/admin/policy/'),
    })
  }
  return (
    <div className="page">
      <PageHead
        title="What-if"
        sub="answered by the server, as gateways decide"
        actions={
          <Segment
            label="Question"
            options={[
              { value: 'reach', label: 'Can it reach' },
              { value: 'who', label: 'Who reaches' },
            ]}
            value={question.mode}
            onChange={(mode) => change(searchOf({ ...question, mode }))}
          />
        }
      />
      {error && <Problem error={error} retry={refetch} what="the versions of the policy" />}
      {!data && !error && <SkeletonLines />}
      {data &&
        (data.items.length === 0 ? (
          <FirstRun
            title="No policy yet"
            sentence="Devices reach nothing until a policy is published."
            command="holdfast policy publish policy.json --channel stable"
          />
        ) : (
          <Asking key={question.mode} question={question} judges={judges} onAsk={ask} />
        ))}
    </div>
  )
}

type AskingProps = {
  question: Question
  judges: ReturnType<typeof useJudges>
  onAsk: (question: Question) => void
}

function Asking({ question, judges, onAsk }: AskingProps) {
  const [askedAt, setAskedAt] = useState(() => Date.now())
  const under = useJudge(judges, question.under)
  const against = useJudge(judges, question.against)
  const names = namesIn(under.document)
  const asked = askedOf(question, askedAt)
  const ask = (next: Question) => {
    setAskedAt(Date.now())
    onAsk(next)
  }
  const failed = [under.error, against.error].filter((error) => error !== null)
  const compared = against.id !== undefined && against.id !== 'delivered' ? against : under
  return (
    <>
      {failed.map((error) => (
        <Problem key={error.message} error={error} retry={() => queryClient.invalidateQueries()} what="the policy" />
      ))}
      <AskForm question={question} names={names} judges={judges.options} isBusy={false} onAsk={ask} />
      {question.mode === 'who'
        ? question.target !== '' && <WhoCard question={question} under={under} against={against} />
        : asked && (
            <div className="cols">
              <div className="c7 stack">
                <VerdictCard asked={asked} question={question} under={under} against={against} />
              </div>
              <div className="c5 stack">
                <SampleCard judge={compared} names={names} target={asked.target} />
              </div>
            </div>
          )}
    </>
  )
}

/** Names of the resources and hosts of a document. */
function namesIn(document: Readonly<Record<string, unknown>> | undefined): string[] {
  const namesOf = (part: unknown) => Object.keys((part ?? {}) as object)
  return document ? [...namesOf(document.resources), ...namesOf(document.hosts)].sort() : []
}
