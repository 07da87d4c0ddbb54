import { useApi } from '../../api/use-api.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { inTenant } from '../../ui/copy-command.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { useFirstData } from '../../ui/use-first-data.ts'
import { HereNow } from './here-now.tsx'
import { StartSteps } from './steps.tsx'
import { progressOf } from './words.ts'

/** Poll interval. The state of the server may be some seconds old, so one event of the stream is not enough. */
const everyMs = 4_000

/** B3: steps from an empty tenant to a first device behind a policy. */
export function Page() {
  const query = useApi('GET /v1/admin/start', {}, { everyMs: (data) => (data?.complete ? undefined : everyMs) })
  const data = useFirstData(query.data)
  const steps = data?.steps
  return (
    <div className="page read" aria-busy={query.isFetching}>
      <PageHead
        title="Getting started"
        sub={steps ? progressOf(steps) : null}
        lede="Steps to a first device behind a policy. Do them in any order. A step is ticked when the server sees its result."
      />
      {query.error && (
        <Problem
          error={query.error}
          retry={query.refetch}
          what="the steps"
          {...(steps && { asOf: query.dataUpdatedAt })}
        />
      )}
      {data ? (
        <div className="cols">
          <div className="c7 stack">
            <StartSteps steps={data.steps} isComplete={data.complete} />
          </div>
          <FromTerminal />
        </div>
      ) : (
        !query.error && <SkeletonLines />
      )}
    </div>
  )
}

const FromTerminal = () => (
  <div className="c5 stack">
    <section className="sect">
      <h2>The same from a terminal</h2>
      <CodeBlock text={commands} label="Copy commands" doesWrap>
        <span className="c"># a token for one device, valid for 24 hours, and the line to run</span>
        {'\n'}
        <span className="p">$</span> {inTenant(commands)}
      </CodeBlock>
    </section>
    <HereNow />
  </div>
)
const commands = 'holdfast token create --name first --max-uses 1 --expires-in 24h --print-install'
