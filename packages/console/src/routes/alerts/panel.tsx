import { useEffect, useRef } from 'react'
import { useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { acknowledge } from '../../shell/acknowledge.ts'
import { Affected } from '../../shell/affected.tsx'
import { type Alert, detailOf, severityMarks } from '../../shell/open-alerts.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { Icon } from '../../ui/icon.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { Kbd } from '../../ui/kbd.tsx'
import { KeyValues } from '../../ui/key-values.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { approveWaiting } from './approve-waiting.ts'
import { Deliveries } from './deliveries.tsx'
import { About } from './spec.tsx'
import { kindWords, openLabel, severityWords, subjectPath } from './words.ts'

type Props = {
  id: string
  /** The alerts of the page, in their order; undefined while they are read. */
  alerts: readonly Alert[] | undefined
  onMove: (id: string) => void
  onClose: () => void
}

/** One alert beside the list: what happened, what to do, and where it was sent. */
export function AlertPanel({ id, alerts = [], onMove, onClose }: Props) {
  const at = alerts.findIndex((alert) => alert.notification_id === id)
  // An alert of another page or state, which a link names.
  const others = useApi('GET /v1/admin/notifications', { query: { state: 'all', limit: 200 } }, { enabled: at < 0 })
  const alert = alerts[at] ?? others.data?.items.find((each) => each.notification_id === id)
  const [previous, next] = [alerts[at - 1], at < 0 ? undefined : alerts[at + 1]]
  const panel = useFocusWhenOpened()
  return (
    <aside className="panel" aria-label={`Alert ${alert?.title ?? ''}`} ref={panel} tabIndex={-1}>
      <header>
        <div className="row between">
          <div className="row">
            <Icon name="bell" />
            <h2>{alert?.title ?? '…'}</h2>
          </div>
          <div className="row tight">
            <Move icon="up" label="Previous alert" to={previous} onMove={onMove} />
            <Move icon="down" label="Next alert" to={next} onMove={onMove} />
            <IconButton icon="x" label="Close panel" onClick={onClose} />
          </div>
        </div>
        {alert && <Facts alert={alert} />}
        {alert && <Actions alert={alert} />}
      </header>
      {alert && <Body alert={alert} />}
      {!alert && others.error && <Problem error={others.error} retry={others.refetch} what="this alert" />}
      {!alert && others.data && (
        <div className="body">
          <p className="soft">This alert is not here: it is older than what is kept, or of another tenant.</p>
        </div>
      )}
      <footer className="hints" aria-hidden="true">
        <span className="hint">
          <Kbd>a</Kbd> acknowledge
        </span>
        <span className="hint">
          <Kbd>Esc</Kbd> close
        </span>
      </footer>
    </aside>
  )
}

const Facts = ({ alert }: { alert: Alert }) => (
  <div className="row wrap">
    <Status kind={severityMarks[alert.severity]}>{severityWords[alert.severity]}</Status>
    <span className="faint">·</span>
    <span>{kindWords[alert.kind].label}</span>
    <span className="faint">·</span>
    <Timestamp at={alert.created_at} className="soft" />
  </div>
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
                <Timestamp at={alert.acknowledged_at} /> by {by?.name ?? by?.type ?? 'nobody'}
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

type MoveProps = { icon: 'up' | 'down'; label: string; to: Alert | undefined; onMove: (id: string) => void }

const Move = ({ icon, label, to, onMove }: MoveProps) => (
  <IconButton
    icon={icon}
    label={label}
    onClick={() => to && onMove(to.notification_id)}
    {...(to === undefined && { offReason: 'The page has no more.' })}
  />
)

/** The focus goes into the panel, and back to where it was when the panel closes. */
function useFocusWhenOpened() {
  const ref = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    ref.current?.focus({ preventScroll: true })
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return ref
}
