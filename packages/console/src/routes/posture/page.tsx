import { useCan } from '../../api/me.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { NoPermission, Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { ChecksCard } from './checks-card.tsx'
import { PostureKpis } from './kpis.tsx'
import { OffendersCard } from './offenders-card.tsx'
import { SplitCard } from './split-card.tsx'
import { StaleCard } from './stale-card.tsx'
import { useChecks } from './use-checks.ts'
import { useOffenders } from './use-offenders.ts'
import { devicesLink, useVerdicts } from './verdicts.ts'

/** B9: compliance of devices with the posture checks of the policy. */
export function Page() {
  const can = useCan()
  if (can('devices:read')) return <Posture />
  return (
    <div className="page">
      <PageHead title="Posture" />
      <NoPermission what="the posture of devices" permission="devices:read" />
    </div>
  )
}

function Posture() {
  const verdicts = useVerdicts()
  const checks = useChecks()
  const offenders = useOffenders()
  const { data, error, dataUpdatedAt } = verdicts
  const reported = data && data.compliant.total.count + data.fails.total.count
  return (
    <div className="page">
      <PageHead
        title="Posture"
        sub={
          data ? (
            <>
              active devices, as of <Timestamp at={data.fails.counted_at} as="clock" />
            </>
          ) : null
        }
        actions={
          reported !== 0 && <ButtonLink to={devicesLink({ posture: 'non_compliant' })}>Devices that fail</ButtonLink>
        }
      />
      {error && <Problem error={error} retry={verdicts.refetch} what="the posture" asOf={data && dataUpdatedAt} />}
      {data && reported === 0 && <NothingJudged hasChecks={checks.data?.checks.length !== 0} />}
      {!data && !error && <SkeletonLines />}
      {data && reported !== 0 && (
        <PostureKpis
          verdicts={data}
          checks={checks.data?.checks.length}
          enforced={checks.data?.checks.filter((c) => (c.enforcement ?? 'enforce') === 'enforce').length ?? 0}
        />
      )}
      {(data || error) && reported !== 0 && (
        <div className="cols">
          <SplitCard verdicts={verdicts} />
          <ChecksCard checks={checks} offenders={offenders} />
          <OffendersCard offenders={offenders} />
          <StaleCard />
        </div>
      )}
    </div>
  )
}

const NothingJudged = ({ hasChecks }: { hasChecks: boolean }) => (
  <FirstRun
    title={hasChecks ? 'No posture result yet' : 'The policy has no posture checks'}
    sentence={
      hasChecks
        ? 'The policy checks each report of a device. The result appears here after its next report.'
        : 'Posture checks are part of the policy. Publish a policy with checks. It then checks each report of a device.'
    }
    action={<ButtonLink to="/admin/devices">Show devices</ButtonLink>}
    command="holdfast device list --posture unknown"
  />
)
