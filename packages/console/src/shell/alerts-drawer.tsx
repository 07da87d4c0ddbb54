import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ApiError } from '../api/api-error.ts'
import { call } from '../api/client.ts'
import { useOffReason } from '../api/me.ts'
import { Button } from '../ui/button.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { SkeletonRows } from '../ui/skeleton.tsx'
import { Timestamp } from '../ui/timestamp.tsx'
import { toast } from '../ui/toast.tsx'
import { type Alert, severityMarks, useOpenAlerts } from './open-alerts.ts'

/** The open alerts over any view, newest first. */
export function AlertsDrawer({ onClose }: { onClose: () => void }) {
  const { alerts, shown, isLoading } = useOpenAlerts()
  const navigate = useNavigate()
  const openAll = () => {
    onClose()
    void navigate({ to: '/admin/alerts' })
  }
  return (
    <Sheet
      title={alerts.length === 0 ? 'Alerts' : `Alerts: ${shown} open`}
      onClose={onClose}
      footer={<Button onClick={openAll}>All alerts</Button>}
    >
      {isLoading ? (
        <SkeletonRows columns={1} />
      ) : alerts.length === 0 ? (
        <div className="blank">
          <h3>All quiet</h3>
          <p>Nothing needs attention right now.</p>
        </div>
      ) : (
        <ul className="tl">
          {alerts.map((alert) => (
            <AlertRow key={alert.notification_id} alert={alert} />
          ))}
        </ul>
      )}
    </Sheet>
  )
}

function AlertRow({ alert }: { alert: Alert }) {
  const off = useOffReason()('operations:write')
  const queries = useQueryClient()
  const acknowledge = async () => {
    try {
      const params = { notification_id: alert.notification_id }
      await call('POST /v1/admin/notifications/{notification_id}/acknowledge', { params })
      await queries.invalidateQueries({ queryKey: ['GET /v1/admin/notifications'] })
    } catch (e) {
      toast({
        kind: 'bad',
        title: `“${alert.title}” is still open`,
        text: e instanceof ApiError ? e.detail : String(e),
      })
    }
  }
  return (
    <li>
      <span className={`d ${severityMarks[alert.severity]}`} />
      <div>
        <div className="strong">{alert.title}</div>
        <div className="sub">{alert.detail}</div>
        <Button size="sm" kind="ghost" busyLabel="Acknowledging…" onClick={acknowledge} offReason={off}>
          Acknowledge
        </Button>
      </div>
      <Timestamp at={alert.created_at} />
    </li>
  )
}
