import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber, formatPercent } from '../../ui/format.ts'
import { Bullet } from '../../ui/progress.tsx'
import { platformWords } from '../devices/words.ts'
import { Card } from './card.tsx'

const most = 5

/** Client versions and systems of the fleet. */
export function VersionsCard() {
  const query = useApi('GET /v1/admin/metrics/fleet', { query: { days: 0 } })
  return (
    <Card title="Clients and systems" what="the versions" query={query} className="c12">
      {({ devices, client_versions, platforms }) =>
        devices === 0 ? (
          <p className="soft">No device yet.</p>
        ) : (
          <div className="cols">
            <div className="c6 usage">
              {client_versions.slice(0, most).map(({ client_version, devices: count }) => (
                <Share
                  key={client_version ?? ''}
                  label={client_version ?? 'Not said'}
                  {...{ count, all: devices }}
                  to={
                    client_version === null
                      ? undefined
                      : `/admin/devices?client_version=${encodeURIComponent(client_version)}`
                  }
                />
              ))}
            </div>
            <div className="c6 usage">
              {platforms.slice(0, most).map(({ platform, devices: count }) => (
                <Share
                  key={platform}
                  label={platformWords[platform]}
                  {...{ count, all: devices }}
                  to={`/admin/devices?platform=${platform}`}
                />
              ))}
            </div>
          </div>
        )
      }
    </Card>
  )
}

type ShareProps = { label: string; count: number; all: number; to: string | undefined }

const Share = ({ label, count, all, to }: ShareProps) => (
  <div>
    <div className="row between">
      {to ? <AppLink to={to}>{label}</AppLink> : <span className="soft">{label}</span>}
      <span className="num soft xs">{formatNumber(count)}</span>
    </div>
    <Bullet share={count / all} label={`${label}: ${formatPercent(count / all)} of devices`} />
  </div>
)
