import { messageOf } from '../../api/api-error.ts'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { formatCount } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { pinTest } from '../editor/pin-test.ts'
import type { Asked, Question } from './question.ts'
import { TraceTable } from './trace-table.tsx'
import { type JudgeState, judgingOf, unknownJudging } from './use-judges.ts'
import { type Explanation, titleOf, traceOf } from './words.ts'

const route = 'POST /v1/admin/policy/explain'
/** Rules shown that could allow a denied target. */
const mostNear = 5

type Props = { asked: Asked; question: Question; under: JudgeState; against: JudgeState }

/** Reads the answer of the server under one policy. */
function useAnswer(asked: Asked, judge: JudgeState) {
  const judging = judgingOf(judge)
  return useApi(route, { body: { ...asked, ...(judging ?? unknownJudging) } }, { enabled: judging !== undefined })
}

/** The answer, its rule with all conditions, and what would change it. */
export function VerdictCard({ asked, question, under, against }: Props) {
  const first = useAnswer(asked, under)
  const second = useAnswer(asked, against)
  const isWaiting = against.id !== undefined && second.data === undefined && !second.error
  const shown = { ...first, data: isWaiting ? undefined : first.data }
  const failed = second.error ? second : undefined
  const title = first.data && !isWaiting ? titleOf(first.data, under.label, second.data, against.label) : 'Answer'
  return (
    <Frame
      className="verdict"
      title={first.data ? <Status kind={first.data.decision === 'allow' ? 'ok' : 'bad'}>{title}</Status> : title}
      aside={
        first.dataUpdatedAt > 0 && (
          <span className="soft xs">
            as of <Timestamp at={new Date(first.dataUpdatedAt).toISOString()} as="clock" />
          </span>
        )
      }
      footer={first.data && <TestButtons test={testOf(question, first.data)} />}
      inset="stack"
    >
      <QueryView query={shown} what="the answer">
        {(answer) => <Answer answer={answer} />}
      </QueryView>
      {failed && (
        <QueryView query={failed} what={`the answer under ${against.label}`}>
          {() => null}
        </QueryView>
      )}
      {second.data && first.data && second.data.decision !== first.data.decision && (
        <details className="more">
          <summary>{titleOf(second.data, against.label)}</summary>
          <div className="stack">
            <Answer answer={second.data} />
          </div>
        </details>
      )}
    </Frame>
  )
}

/** Keeps the answer as a test of the policy. */
function TestButtons({ test }: { test: PinnedTest }) {
  const off = useOffReason()('policy:write')
  const pin = async () => {
    try {
      const { draft_id, name } = await pinTest(test)
      const link = { to: `/admin/policy/edit?draft=${draft_id}&tab=tests`, label: 'Open the draft' }
      toast({ title: `Test added to ${name}`, link })
    } catch (e) {
      toast({ kind: 'bad', title: 'The test was not added', text: messageOf(e) })
    }
  }
  return (
    <>
      <Button icon="plus" offReason={off} busyLabel="Adding…" onClick={pin}>
        Pin as a test
      </Button>
      <CopyButton kind="ghost" text={JSON.stringify(test, null, 2)} label="Copy as test" />
    </>
  )
}

function Answer({ answer }: { answer: Explanation }) {
  const trace = traceOf(answer)
  const { reason, rules, would_allow, blocked_by, valid_until, decision } = answer
  const outside = blocked_by.filter(({ kind }) => kind !== 'policy')
  const others = rules.filter(({ rule_id }) => rule_id !== trace?.ruleId)
  return (
    <>
      <p>
        {sentence(reason)}{' '}
        {valid_until !== null && decision === 'allow' && (
          <span className="soft">
            It is allowed until <Timestamp at={valid_until} as="exact" />.
          </span>
        )}
      </p>
      {outside.length > 0 && (
        <div className="stack tight">
          <h3>Outside of the policy</h3>
          {outside.map(({ kind, detail }) => (
            <Status key={kind + detail} kind="bad">
              {sentence(detail)}
            </Status>
          ))}
        </div>
      )}
      {trace && trace.conditions.length > 0 && <TraceTable trace={trace} />}
      {would_allow.length > 0 && (
        <div className="stack tight">
          <h3>What would allow it</h3>
          <ul className="effects">
            {would_allow.slice(0, mostNear).map(({ rule_id, sentence: needs }) => (
              <li key={rule_id}>
                <span className="d ring" />
                <span>
                  <code>{rule_id}</code> {needs}
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
      <p className="soft xs">
        {others.length === 0
          ? 'No other rule includes this subject and this target.'
          : `${formatCount(others.length, 'other rule')} looked at: ${others
              .slice(0, 8)
              .map(({ rule_id, matched }) => `${rule_id} ${matched ? 'applies' : 'does not apply'}`)
              .join(', ')}.`}
      </p>
    </>
  )
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** A test of the policy document that holds while the answer stays the same. */
type PinnedTest = { name: string; from: object }
function testOf(question: Question, { decision }: Explanation): PinnedTest {
  const { subject, target, at, sourceIp, country, mfaMinutes } = question
  const from = {
    ...(subject && { [subject.kind]: subject.id }),
    ...(at !== '' && { at }),
    ...(sourceIp !== '' && { source_ip: sourceIp }),
    ...(country !== '' && { country: country.toUpperCase() }),
    ...(mfaMinutes !== undefined && { mfa_age_seconds: mfaMinutes * 60 }),
  }
  const name = `${decision === 'allow' ? 'reaches' : 'does not reach'} ${target}`
  return { name, from, [decision]: [target] }
}
