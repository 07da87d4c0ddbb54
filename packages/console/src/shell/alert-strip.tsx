import { Link } from '@tanstack/react-router'
import { useApi } from '../api/use-api.ts'
import { Status } from '../ui/status.tsx'
import { type Alert, useOpenAlerts } from './open-alerts.ts'

const urgentKinds: ReadonlySet<string> = new Set(['gateway.down', 'license.problem'])

/** One line on every view while a gateway is down or the license fails. */
export function AlertStrip() {
  const { alerts } = useOpenAlerts()
  const urgent = alerts.filter((alert) => urgentKinds.has(alert.kind))
  const [first] = urgent
  if (!first) return null
  return (
    <div className="strip" role="status">
      <Status kind="bad">{first.title}</Status>
      <span className="num grow trunc">
        {first.kind === 'gateway.down' && first.subject.id ? (
          <Affected alert={first} id={first.subject.id} />
        ) : (
          first.detail
        )}
      </span>
      <Link to="/admin/alerts">{urgent.length > 1 ? `See all ${urgent.length}` : 'See alert'}</Link>
    </div>
  )
}

function Affected({ alert, id }: { alert: Alert; id: string }) {
  const { data } = useApi('GET /v1/admin/gateways/{gateway_id}/impact', {
    params: { gateway_id: id },
    query: { limit: 1 },
  })
  if (!data?.counts) return alert.detail
  const { devices, moved, stuck } = data.counts
  return `${devices} devices: ${moved} moved, ${stuck} stuck`
}
