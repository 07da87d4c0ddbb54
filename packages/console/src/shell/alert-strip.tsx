import { AppLink } from '../ui/app-link.tsx'
import { Status } from '../ui/status.tsx'
import { Timestamp } from '../ui/timestamp.tsx'
import { Affected } from './affected.tsx'
import { type Alert, detailOf, useOpenAlerts } from './open-alerts.ts'

const urgentKinds: ReadonlySet<string> = new Set(['gateway.down', 'license.problem'])

/** Line on every view while a gateway is down or the license has a problem. */
export function AlertStrip() {
  const { alerts } = useOpenAlerts()
  const urgent = alerts.filter((alert) => urgentKinds.has(alert.kind))
  const [first] = urgent
  if (!first) return null
  const down = urgent.filter((alert) => alert.kind === 'gateway.down')
  return (
    <div className="strip" role="status">
      <Status kind="bad">{down.length > 1 ? `${down.length} gateways are down` : first.title}</Status>
      <span className="num grow trunc">
        {down.length > 1 ? (
          <>
            the first since <Timestamp at={earliest(down)} as="clock" /> ·{' '}
            {down.map(({ subject }) => subject.name).join(', ')}
          </>
        ) : (
          <>
            since <Timestamp at={first.created_at} as="clock" /> · <About alert={first} />
          </>
        )}
      </span>
      <AppLink to={down.length > 1 ? '/admin/alerts?kind=gateway.down' : `/admin/alerts?open=${first.notification_id}`}>
        {urgent.length > 1 ? `See all ${urgent.length}` : 'See alert'}
      </AppLink>
    </div>
  )
}

const earliest = (alerts: readonly Alert[]): string =>
  alerts.map(({ created_at }) => created_at).reduce((a, b) => (b < a ? b : a))

const About = ({ alert }: { alert: Alert }) =>
  alert.kind === 'gateway.down' && alert.subject.id ? (
    <Affected gatewayId={alert.subject.id} otherwise={detailOf(alert)} />
  ) : (
    detailOf(alert)
  )
