import { useMemo } from 'react'
import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { TimeSeries } from '../../charts/time-series.tsx'
import { formatNumber } from '../../ui/format.ts'
import { formatDuration } from '../../ui/format-time.ts'
import { Card } from '../home/card.tsx'
import type { Version } from './words.ts'

type Adoption = OutputOf<'GET /v1/admin/policy/{bundle_id}/adoption'>

/** Devices and gateways that have applied a version, over time. */
export function AdoptionCard({ version }: { version: Version }) {
  const query = useApi('GET /v1/admin/policy/{bundle_id}/adoption', { params: { bundle_id: version.bundle_id } })
  return (
    <Card
      title={`Adoption of v${version.version}`}
      what={`the adoption of version ${version.version}`}
      query={query}
      aside={query.data && <span className="soft xs">{timesOf(query.data)}</span>}
    >
      {(adoption) => <Chart adoption={adoption} />}
    </Card>
  )
}

function Chart({ adoption: { points, version } }: { adoption: Adoption }) {
  const times = useMemo(() => points.map(({ at }) => at), [points])
  const series = useMemo(
    () =>
      (['devices', 'gateways'] as const).map((kind) => ({
        name: kind === 'devices' ? 'Devices, % applied' : 'Gateways, % applied',
        data: points.map((point) => shareOf(point[kind])),
      })),
    [points],
  )
  if (points.length < 2)
    return (
      <p className="soft">
        Adoption is measured each 10 s after the publication. The chart begins with the second measurement.
      </p>
    )
  return <TimeSeries label={`Adoption of version ${version}`} times={times} series={series} format={formatShare} />
}

const shareOf = ({ applied, pending }: { applied: number; pending: number }): number | null =>
  applied + pending === 0 ? null : Math.round((applied / (applied + pending)) * 1000) / 10
const formatShare = (value: number) => `${formatNumber(value)} %`

/** @example timesOf(adoption) // '90 % of devices after 40 s' */
function timesOf({ devices: { time_to_50, time_to_90, time_to_99 } }: Adoption): string {
  const [percent, seconds] =
    time_to_99 !== null ? [99, time_to_99] : time_to_90 !== null ? [90, time_to_90] : [50, time_to_50]
  return seconds === null ? 'less than 50 % of devices' : `${percent} % of devices after ${formatDuration(seconds)}`
}
