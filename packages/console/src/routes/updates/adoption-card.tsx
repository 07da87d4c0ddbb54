import type { OutputOf } from '../../api/client.ts'
import { LineChart } from '../../charts/line-chart.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber, formatPercent } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { Card } from '../home/card.tsx'
import type { useFleet } from './use-fleet.ts'

type Fleet = OutputOf<'GET /v1/admin/metrics/fleet'>
type Query = ReturnType<typeof useFleet>
/** Most series that a chart can distinguish. */
const most = 4
const listed = 4

/** Number of devices by version: history and current state. */
export function AdoptionCards({ query }: { query: Query }) {
  return (
    <div className="cols listcharts low">
      <Card title="Adoption, 30 days" what="the history of versions" query={query} className="c8">
        {(fleet) => <OverDays fleet={fleet} />}
      </Card>
      <Card title="Versions now" what="the versions" query={query} className="c4">
        {(fleet) => <Now fleet={fleet} />}
      </Card>
    </div>
  )
}

function OverDays({ fleet: { days, client_versions } }: { fleet: Fleet }) {
  if (days.length < 2)
    return <p className="soft">Devices are counted once a day. The chart begins with the second day of data.</p>
  const versions = client_versions.flatMap((v) => v.client_version ?? []).slice(0, most)
  const countOn = (day: Fleet['days'][number], version: string) =>
    day.client_versions.find((v) => v.client_version === version)?.devices ?? 0
  return (
    <LineChart
      label="Devices by client version over 30 days"
      size="low"
      times={days.map((day) => day.at)}
      series={versions.map((version) => ({ name: version, data: days.map((day) => countOn(day, version)) }))}
    />
  )
}

function Now({ fleet: { devices, client_versions, other_client_versions } }: { fleet: Fleet }) {
  if (devices === 0) return <p className="soft">No device yet.</p>
  const shown = client_versions.slice(0, listed)
  const rest = client_versions.slice(listed).reduce((sum, v) => sum + v.devices, other_client_versions)
  return (
    <div className="usage tight">
      {shown.map(({ client_version: version, devices: count }) => (
        <div key={version ?? ''}>
          <div className="row between">
            {version === null ? (
              <span className="soft">Not reported</span>
            ) : (
              <AppLink to={`/admin/devices?client_version=${encodeURIComponent(version)}`}>{version}</AppLink>
            )}
            <span className="num soft xs">{formatNumber(count)}</span>
          </div>
          <Bullet share={count / devices} label={`${version ?? 'Not reported'}: ${formatPercent(count / devices)}`} />
        </div>
      ))}
      {rest > 0 && <p className="soft xs">{formatNumber(rest)} devices run other versions.</p>}
    </div>
  )
}
