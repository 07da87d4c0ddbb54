import { HeatStrip } from '../../charts/heat-strip.tsx'
import { formatCount, formatNumber, formatPercent, formatWord, shortDigest } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import type { QueryState } from '../../ui/query-view.tsx'
import { Card } from './card.tsx'
import type { Overview } from './home-kpis.tsx'
import { type Metrics, useMetrics } from './range.ts'

type Query = QueryState<Overview>
const hoursOfDay = ['00', '03', '06', '09', '12', '15', '18', '21']

/** Progress of each policy channel, and failed sign-ins by hour. */
export function PolicyCard({ overview }: { overview: Query }) {
  const metrics = useMetrics('7d')
  return (
    <Card title="Policy" what="the policy channels" query={overview} className="c6 row-policy" id="policy">
      {({ policy }) => (
        <>
          {policy.length === 0 ? (
            <p className="soft">No policy is published. Devices reach nothing until one is.</p>
          ) : (
            <div className="chan">
              {policy.map((channel) => (
                <Channel key={channel.channel} channel={channel} />
              ))}
            </div>
          )}
          <h3 className="h3 gap" id="failed-sign-ins">
            Failed sign-ins, last 7 days
          </h3>
          {metrics.data && <FailedSignIns series={metrics.data.series} />}
        </>
      )}
    </Card>
  )
}

function Channel({
  channel: { channel, version, digest, devices, gateways },
}: {
  channel: Overview['policy'][number]
}) {
  const all = devices.applied + devices.pending
  return (
    <div>
      <div className="row between wrap">
        <span className="row tight">
          <b className="strong">{formatWord(channel)}</b>{' '}
          <span className="mono soft">
            v{version} · {shortDigest(digest)}
          </span>
        </span>
        <span className="num soft xs">
          {partOf(devices, 'device')} · {partOf(gateways, 'gateway')}
        </span>
      </div>
      {all > 0 && (
        <Bullet
          share={devices.applied / all}
          fill={channel === 'stable' ? 'bxok' : 'bx1'}
          label={`${formatWord(channel)}: ${formatPercent(devices.applied / all)} of devices have applied version ${version}`}
        />
      )}
    </div>
  )
}

type Counts = { applied: number; pending: number }

/** Returns "12 of 14 devices", or "no device yet". */
function partOf({ applied, pending }: Counts, one: string): string {
  const all = applied + pending
  return all === 0 ? `no ${one} yet` : `${formatNumber(applied)} of ${formatCount(all, one)}`
}

function FailedSignIns({ series }: { series: Metrics['series'] }) {
  const days = Map.groupBy(series, (step) => step.at.slice(0, 10))
  const rows = Array.from(days, ([day, steps]) => ({
    name: new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' }),
    values: Array.from(
      { length: 24 },
      (_, hour) => steps.find((s) => Number(s.at.slice(11, 13)) === hour)?.logins_failed ?? 0,
    ),
  })).slice(-7)
  const all = series.reduce((sum, step) => sum + step.logins_failed, 0)
  return (
    <HeatStrip
      label={`Failed sign-ins by hour over seven days: ${formatNumber(all)} in all`}
      rows={rows}
      columns={hoursOfDay}
    />
  )
}
