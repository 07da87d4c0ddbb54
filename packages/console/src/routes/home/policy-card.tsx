import { HeatStrip } from '../../charts/heat-strip.tsx'
import { formatNumber, formatPercent, formatWord, shortDigest } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Card, type CardQuery } from './card.tsx'
import type { Overview } from './home-kpis.tsx'
import { type Metrics, useMetrics } from './range.ts'

type Query = CardQuery<Overview>
const hoursOfDay = ['00', '03', '06', '09', '12', '15', '18', '21']

/** How far each channel has got, and the rhythm of failed sign-ins. */
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
  const share = all === 0 ? 0 : devices.applied / all
  return (
    <div>
      <div className="row between">
        <span className="row tight">
          <b className="strong">{formatWord(channel)}</b>{' '}
          <span className="mono soft">
            v{version} · {shortDigest(digest)}
          </span>
        </span>
        <span className="num soft xs">
          {formatNumber(devices.applied)} of {formatNumber(all)} devices · {formatNumber(gateways.applied)} of{' '}
          {formatNumber(gateways.applied + gateways.pending)} gateways
        </span>
      </div>
      <Bullet
        share={share}
        fill={channel === 'stable' ? 'bxok' : 'bx1'}
        label={`${formatWord(channel)}: ${formatPercent(share)} of devices have applied version ${version}`}
      />
    </div>
  )
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
