import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { acknowledge } from '../../shell/acknowledge.ts'
import { Affected } from '../../shell/affected.tsx'
import { type Alert, detailOf, severityMarks } from '../../shell/open-alerts.ts'
import { Dot, SidePanel, type Walk } from '../../table/side-panel.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { KeyValues } from '../../ui/key-values.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { approveWaiting } from './approve-waiting.ts'
import { Deliveries } from './deliveries.tsx'
import { About } from './spec.tsx'
import { kindWords, openLabel, severityWords, subjectPath } from './words.ts'

type Props = Walk & {
  /** Alerts of the page; undefined until they have been read. */
  alerts: readonly Alert[] | undefined
}
const searched = 200

/** Alert beside the list: the event, advice, and its deliveries. */
export function AlertPanel({ alerts, ...walk }: Props) {
  const known = alerts?.find((alert) => alert.notification_id === walk.id)
  // A link may name an alert of another page or state.
  const others = useApi(
    'GET /v1/admin/notifications',
    { query: { state: 'all', limit: searched } },
    { enabled: alerts !== undefined && !known },
  )
  const alert = known ?? others.data?.items.find((each) => each.notification_id === walk.id)
  return (
    <SidePanel
      {...walk}
      noun="alert"
      name={alert?.title}
      icon="bell"
      wrapsName
      facts={alert && <Facts alert={alert} />}
      actions={alert && <Actions alert={alert} />}
      hints={[{ keys: ['a'], does: 'acknowledge' }]}
    >
      {alert ? (
        <Body alert={alert} />
      ) : (
        <QueryView query={others} what="this alert">
          {() => (
            <div className="body">
              <p className="soft">This alert is not among the newest {searched} of this tenant.</p>
            </div>
          )}
        </QueryView>
      )}
    </SidePanel>
  )
}

const Facts = ({ alert }: { alert: Alert }) => (
  <>
    <Status kind={severityMarks[alert.severity]}>{severityWords[alert.severity]}</Status>
    <Dot />
    <span>{kindWords[alert.kind].label}</span>
    <Dot />
    <Timestamp at={alert.created_at} className="soft" />
  </>
)

function Actions({ alert }: { alert: Alert }) {
  const off = useOffReason()
  const path = subjectPath(alert)
  return (
    <div className="row wrap">
      {alert.kind === 'device.awaiting_approval' && alert.state === 'open' && (
        <Button size="sm" kind="primary" kbd="p" offReason={off('devices:write')} onClick={approveWaiting}>
          Approve devices…
        </Button>
      )}
      {path !== undefined && (
        <ButtonLink size="sm" to={path}>
          {openLabel(alert)}
        </ButtonLink>
      )}
      {alert.state === 'open' && (
        <Button
          size="sm"
          kbd="a"
          busyLabel="Acknowledging…"
          offReason={off('operations:write')}
          onClick={() => acknowledge([alert])}
        >
          Acknowledge
        </Button>
      )}
    </div>
  )
}

function Body({ alert }: { alert: Alert }) {
  const { subject, acknowledged_by: by } = alert
  return (
    <div className="body">
      <section className="sect">
        <h3>What happened</h3>
        <p className="wraps">{detailOf(alert)}</p>
      </section>
      <section className="sect">
        <h3>What to do</h3>
        <p>{kindWords[alert.kind].advice}</p>
      </section>
      <section className="sect">
        <h3>Alert</h3>
        <KeyValues
          rows={[
            ['About', <About key="about" alert={alert} />],
            alert.kind === 'gateway.down' &&
              subject.id !== null && [
                'Affected',
                <Affected key="affected" gatewayId={subject.id} otherwise="Not known" />,
              ],
            ['Raised', <Timestamp key="raised" at={alert.created_at} as="exact" />],
            ['State', alert.state === 'open' ? 'Open' : 'Acknowledged'],
            alert.acknowledged_at !== null && [
              'Acknowledged',
              <span key="acknowledged">
                <Timestamp at={alert.acknowledged_at} />
                {by?.type === 'system' ? ', since its cause is gone' : ` by ${by?.name ?? by?.type ?? 'nobody'}`}
              </span>,
            ],
            ['Id', <CopyId key="id" id={alert.notification_id} />],
          ]}
        />
      </section>
      <Deliveries deliveries={alert.deliveries} />
    </div>
  )
}
