import { useSyncExternalStore } from 'react'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { clockNow, subscribeToClock } from '../../ui/clock.ts'
import { formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { type Device, deviceIcon } from '../devices/words.ts'
import { Card } from '../home/card.tsx'
import { assertionMenu } from './save-assertion.ts'
import { counted, devicesLink } from './verdicts.ts'

const shown = 8
/** Number of devices that are read: the API does not filter by the age of a report. */
const judged = 200
/** Age from which a report is stale, unless a check sets another. */
const staleMs = 3_600_000
const minuteMs = 60_000

/** Devices whose last report is stale: their assertions are no longer affirming. */
export function StaleCard() {
  const query = useApi('GET /v1/admin/devices', { query: { ...counted, sort: 'last_seen_at', limit: judged } })
  const minute = useSyncExternalStore(subscribeToClock, () => Math.floor(clockNow() / minuteMs))
  return (
    <Card
      title="Stale assertions"
      what="the reports"
      query={query}
      className="c4"
      inset="none"
      aside={<AppLink to={devicesLink({ posture: 'unknown' })}>Never reported</AppLink>}
      footer={
        <span>
          A report older than an hour does not count.
          {query.data?.next_cursor && ` Of the ${judged} active devices that were unseen for longest.`}
        </span>
      }
    >
      {({ items }) => <StaleDevices devices={items.filter(isOlderThan(minute * minuteMs - staleMs))} />}
    </Card>
  )
}

const isOlderThan =
  (at: number) =>
  ({ posture: { reported_at } }: Device) =>
    reported_at !== null && Date.parse(reported_at) < at

function StaleDevices({ devices }: { devices: readonly Device[] }) {
  if (devices.length === 0) return <p className="soft in">No report is older than an hour.</p>
  const oldest = devices
    .toSorted((a, b) => (a.posture.reported_at ?? '').localeCompare(b.posture.reported_at ?? ''))
    .slice(0, shown)
  return (
    <ul className="attn">
      {oldest.map((device) => (
        <li key={device.device_id}>
          <Icon name={deviceIcon(device)} className="faint" />
          <div>
            <AppLink className="rowlink" to={`/admin/devices/${device.device_id}`}>
              {device.name}
            </AppLink>
            <p>
              reported <Timestamp at={device.posture.reported_at} />
            </p>
          </div>
          <MenuButton label={`Actions for ${device.name}`} items={assertionMenu(device)} />
        </li>
      ))}
      {devices.length > shown && <li className="soft">and {formatNumber(devices.length - shown)} more</li>}
    </ul>
  )
}
