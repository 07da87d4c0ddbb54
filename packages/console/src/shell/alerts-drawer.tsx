import { useNavigate } from '@tanstack/react-router'
import { useOffReason } from '../api/me.ts'
import { AppLink } from '../ui/app-link.tsx'
import { Button } from '../ui/button.tsx'
import { QueryView } from '../ui/query-view.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { Timestamp } from '../ui/timestamp.tsx'
import { acknowledge } from './acknowledge.ts'
import { type Alert, detailOf, severityMarks, useOpenAlerts } from './open-alerts.ts'

/** The open alerts over any view, newest first. */
export function AlertsDrawer({ onClose }: { onClose: () => void }) {
  const { count, shown, query } = useOpenAlerts()
  const navigate = useNavigate()
  const openAll = () => {
    onClose()
    void navigate({ to: '/admin/alerts' })
  }
  return (
    <Sheet
      title={count === 0 ? 'Alerts' : `Alerts: ${shown} open`}
      onClose={onClose}
      footer={<Button onClick={openAll}>All alerts</Button>}
    >
      <QueryView query={query} what="alerts" permission="operations:read">
        {({ items }) =>
          items.length === 0 ? (
            <div className="blank">
              <h3>No alert is open</h3>
              <p>Acknowledged alerts are in the list of all alerts.</p>
            </div>
          ) : (
            <ul className="tl">
              {items.map((alert) => (
                <AlertRow key={alert.notification_id} alert={alert} onClose={onClose} />
              ))}
            </ul>
          )
        }
      </QueryView>
    </Sheet>
  )
}

function AlertRow({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const off = useOffReason()('operations:write')
  return (
    <li>
      <span className={`d ${severityMarks[alert.severity]}`} />
      <div>
        <AppLink className="strong" to={`/admin/alerts?open=${alert.notification_id}`} onClick={onClose}>
          {alert.title}
        </AppLink>
        <div className="sub wraps">{detailOf(alert)}</div>
        <Button size="sm" busyLabel="Acknowledging…" onClick={() => acknowledge([alert])} offReason={off}>
          Acknowledge
        </Button>
      </div>
      <Timestamp at={alert.created_at} />
    </li>
  )
}
