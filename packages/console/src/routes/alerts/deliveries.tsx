import type { Alert } from '../../shell/open-alerts.ts'
import { formatCount } from '../../ui/format.ts'
import { type Mark, Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'

type Delivery = Alert['deliveries'][number]
const marks: Readonly<Record<Delivery['state'], { kind: Mark; label: string }>> = {
  pending: { kind: 'half', label: 'Sending' },
  delivered: { kind: 'ok', label: 'Delivered' },
  failed: { kind: 'bad', label: 'Failed' },
}

/** Destinations of the alert, and the result of each delivery. */
export function Deliveries({ deliveries }: { deliveries: readonly Delivery[] }) {
  return (
    <section className="sect">
      <h3>Sent to</h3>
      {deliveries.length === 0 ? (
        <p className="soft">Nobody. No e-mail address and no webhook receives alerts of this kind.</p>
      ) : (
        <ul className="deliveries">
          {deliveries.map((delivery) => (
            <li key={delivery.channel + (delivery.recipient ?? '')}>
              <div className="row between">
                <span className="wraps">{delivery.recipient ?? 'Webhook'}</span>
                <Status kind={marks[delivery.state].kind}>{marks[delivery.state].label}</Status>
              </div>
              <p className="soft xs">
                <How delivery={delivery} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function How({ delivery: { attempts, last_error, finished_at, next_attempt_at, state } }: { delivery: Delivery }) {
  return (
    <>
      {formatCount(attempts, 'try', 'tries')}
      {finished_at && (
        <>
          {' · '}
          <Timestamp at={finished_at} />
        </>
      )}
      {state === 'pending' && next_attempt_at && (
        <>
          {' · next '}
          <Timestamp at={next_attempt_at} />
        </>
      )}
      {last_error && state !== 'delivered' && <span className="wraps"> · {last_error}</span>}
    </>
  )
}
