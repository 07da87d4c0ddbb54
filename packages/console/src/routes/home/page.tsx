import { useApi } from '../../api/use-api.ts'
import { useNavigation, useSearch } from '../../navigation.ts'
import { classes } from '../../ui/classes.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { ButtonGroup } from '../../ui/tabs.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'
import { StartSteps } from '../start/steps.tsx'
import type { StartStep } from '../start/words.ts'
import { AttentionCard } from './attention-card.tsx'
import { ExpiryCard } from './expiry-card.tsx'
import { GatewayHistoryCard } from './gateway-history-card.tsx'
import { GatewaysCard } from './gateways-card.tsx'
import { HomeKpis } from './home-kpis.tsx'
import { PlanCard } from './plan-card.tsx'
import { PolicyCard } from './policy-card.tsx'
import { type Range, ranges } from './range.ts'
import { SessionsCard } from './sessions-card.tsx'
import { StartLine } from './start-line.tsx'
import { TrafficCard } from './traffic-card.tsx'
import { VersionsCard } from './versions-card.tsx'

const rangeWords: Readonly<Record<Range, string>> = { '24h': '24 h', '7d': '7 d', '30d': '30 d' }

/** B1: state of the fleet. */
export function Page() {
  const { change } = useNavigation()
  const chosen = useSearch().range
  const range = ranges.find((r) => r === chosen) ?? '24h'
  const overview = useApi('GET /v1/admin/dashboard/overview', {}, { everyMs: 30_000 })
  const start = useApi('GET /v1/admin/start', {})
  const isNew = start.data?.complete === false && !start.data.steps.some(isOfFleet)
  const choose = (next: Range) => change({ range: next === '24h' ? undefined : next }, { replace: true })
  return (
    <div className="page home">
      <PageHead
        title="Home"
        sub={
          overview.dataUpdatedAt > 0 && (
            <>
              as of <Timestamp at={new Date(overview.dataUpdatedAt).toISOString()} as="clock" />
            </>
          )
        }
        actions={
          <>
            {!isNew && (
              <ButtonGroup
                label="Range"
                options={ranges.map((value) => ({ value, label: rangeWords[value] }))}
                value={range}
                onChange={choose}
              />
            )}
            <EnrollButton size="sm" />
          </>
        }
      />
      {start.data?.complete === false && <StartLine start={start.data} />}
      {start.data && isNew && <StartSteps steps={start.data.steps} isComplete={false} />}
      {overview.error && (
        <Problem
          error={overview.error}
          retry={overview.refetch}
          what="the sums of the fleet"
          asOf={overview.data && overview.dataUpdatedAt}
        />
      )}
      {!isNew && (overview.data || !overview.error) && (
        <div className={classes(start.isPending && 'hidden-yet')}>
          <HomeKpis overview={overview.data} />
        </div>
      )}
      {!isNew && (
        <div className={classes('cols', start.isPending && 'hidden-yet')}>
          <SessionsCard range={range} />
          <AttentionCard />
          <GatewaysCard />
          <PolicyCard overview={overview} />
          <GatewayHistoryCard />
          <TrafficCard range={range} />
          <ExpiryCard overview={overview} />
          <PlanCard overview={overview} />
          <VersionsCard />
        </div>
      )}
    </div>
  )
}

/**
 * True for a completed step with a gateway or device. Before the first of them there is no data to chart, and Home
 * shows the setup steps.
 */
const isOfFleet = ({ step, done }: StartStep): boolean => done && (step === 'gateway' || step === 'device_enrolled')
