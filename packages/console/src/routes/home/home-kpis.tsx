import type { OutputOf } from '../../api/client.ts'
import { formatNumber, formatPercent, formatWord } from '../../ui/format.ts'
import { Kpi, Kpis } from '../../ui/kpi.tsx'

export type Overview = OutputOf<'GET /v1/admin/dashboard/overview'>

/** Six figures; each links to its list, or to the part of this page that explains it. */
export function HomeKpis({ overview }: { overview: Overview | undefined }) {
  return overview ? <Figures overview={overview} /> : <NoFigures />
}

const labels = ['Active devices', 'Sessions now', 'Gateways serving', 'Posture compliant', 'Failed sign-ins, 24 h']

/** Figures in their final height before the data is known. */
const NoFigures = () => (
  <Kpis>
    {[...labels, 'Soonest expiry'].map((label) => (
      <Kpi key={label} label={label} value={undefined} sub="&nbsp;" />
    ))}
  </Kpis>
)

function Figures({ overview }: { overview: Overview }) {
  const { devices, sessions, gateways, logins, expiring, usage, series } = overview
  const status = gateways.status
  const all = Object.values(status).reduce((sum, n) => sum + n, 0)
  const serving = status.healthy + status.degraded
  const limit = usage.find((u) => u.metric === 'devices')?.limit
  const { compliant, non_compliant, unknown } = devices.posture
  const known = compliant + non_compliant + unknown
  const [soonest] = expiring.soonest
  const pending = devices.effective_status.pending
  return (
    <Kpis>
      <Kpi
        {...{ label: 'Active devices', to: '/admin/devices?effective_status=active' }}
        value={formatNumber(devices.effective_status.active)}
        unit={limit ? `of ${formatNumber(limit)}` : undefined}
        sub={pending > 0 ? `${formatNumber(pending)} wait for approval` : known === 0 ? 'no device yet' : 'none waits'}
      />
      <Kpi
        {...{ label: 'Sessions now', to: '/admin/sessions' }}
        value={formatNumber(sessions.active)}
        spark={series.length > 1 ? series.map((step) => step.sessions) : undefined}
        sub={series.length > 1 ? undefined : 'no history yet'}
      />
      <Kpi
        {...{ label: 'Gateways serving', to: '/admin#gateways' }}
        value={formatNumber(serving)}
        unit={all === 0 ? undefined : `of ${formatNumber(all)}`}
        mark={status.down > 0 ? 'bad' : status.degraded > 0 ? 'warn' : undefined}
        sub={all === 0 ? 'no gateway yet' : gatewaySentence(status)}
      />
      <Kpi
        {...{ label: 'Posture compliant', to: '/admin/posture' }}
        value={known === 0 ? undefined : formatPercent(compliant / known).replace(/\s?%$/, '')}
        unit={known === 0 ? undefined : '%'}
        sub={known === 0 ? 'no device yet' : `${formatNumber(non_compliant)} fail, ${formatNumber(unknown)} unknown`}
      />
      <Kpi
        {...{ label: 'Failed sign-ins, 24 h', to: '/admin#failed-sign-ins' }}
        value={formatNumber(logins.failed_24h)}
        sub="of all accounts"
      />
      <Kpi
        {...{ label: 'Soonest expiry', to: '/admin#expires' }}
        value={soonest && formatNumber(Math.max(soonest.days_left, 0))}
        unit={soonest ? (soonest.days_left === 1 ? 'day' : 'days') : undefined}
        mark={
          !soonest ? undefined : soonest.status === 'warning' ? 'warn' : soonest.status === 'ok' ? undefined : 'bad'
        }
        sub={soonest ? `${soonest.name}, ${formatWord(soonest.type).toLowerCase()}` : 'nothing to renew'}
      />
    </Kpis>
  )
}

function gatewaySentence(status: Overview['gateways']['status']): string {
  const parts = (['down', 'degraded', 'draining', 'never_seen', 'pending'] as const)
    .filter((state) => status[state] > 0)
    .map((state) => `${formatNumber(status[state])} ${formatWord(state).toLowerCase()}`)
  return parts.length === 0 ? 'all healthy' : parts.join(' · ')
}
