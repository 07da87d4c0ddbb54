import { formatNumber, formatPercent } from '../../ui/format.ts'
import { Kpi, Kpis } from '../../ui/kpi.tsx'
import { devicesLink, type Verdicts } from './verdicts.ts'

type Props = { verdicts: Verdicts; checks: number | undefined; enforced: number }

/** Number of devices that pass, fail or have not reported; each links to its list. */
export function PostureKpis({ verdicts: { compliant, fails, unknown }, checks, enforced }: Props) {
  const [passing, failing, silent] = [compliant.total.count, fails.total.count, unknown.total.count]
  const all = passing + failing + silent
  const about = [compliant, fails, unknown].every(({ total }) => total.exact) ? '' : '≈ '
  return (
    <Kpis className="four">
      <Kpi
        {...{ label: 'Compliant', to: devicesLink({ posture: 'compliant' }) }}
        value={all === 0 ? '–' : formatPercent(passing / all).replace(/\s?%$/, '')}
        unit={all === 0 ? undefined : '%'}
        sub={`${about}${formatNumber(passing)} of ${formatNumber(all)} active devices`}
      />
      <Kpi
        {...{ label: 'Fails', to: devicesLink({ posture: 'non_compliant' }) }}
        mark={failing > 0 ? 'bad' : undefined}
        value={`${about}${formatNumber(failing)}`}
        sub={failing === 0 ? 'no device fails an enforced check' : 'fail an enforced check'}
      />
      <Kpi
        {...{ label: 'Unknown', to: devicesLink({ posture: 'unknown' }) }}
        value={`${about}${formatNumber(silent)}`}
        sub="no report yet"
      />
      <Kpi
        label="Checks"
        value={checks === undefined ? undefined : formatNumber(checks)}
        sub={checks === undefined ? 'policy:read shows them' : `${formatNumber(enforced)} enforced`}
      />
    </Kpis>
  )
}
