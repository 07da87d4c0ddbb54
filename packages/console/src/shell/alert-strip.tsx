import { AppLink } from '../ui/app-link.tsx'
import { Status } from '../ui/status.tsx'
import { Affected } from './affected.tsx'
import { detailOf, useOpenAlerts } from './open-alerts.ts'

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
          <Affected gatewayId={first.subject.id} otherwise={detailOf(first)} />
        ) : (
          detailOf(first)
        )}
      </span>
      <AppLink to={`/admin/alerts?open=${first.notification_id}`}>
        {urgent.length > 1 ? `See all ${urgent.length}` : 'See alert'}
      </AppLink>
    </div>
  )
}
