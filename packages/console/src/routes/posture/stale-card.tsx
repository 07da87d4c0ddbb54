import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { deviceIcon } from '../devices/words.ts'
import { Card } from '../home/card.tsx'
import { assertionMenu } from './save-assertion.ts'
import { counted, devicesLink, staleSeconds } from './verdicts.ts'

const most = 8

/** Devices that nobody has seen for an hour: their reports are at least that old, so no assertion affirms them. */
export function StaleCard() {
  const filter = { unseen_for: String(staleSeconds) }
  const query = useApi('GET /v1/admin/devices', {
    query: { ...counted, ...filter, sort: 'last_seen_at', limit: most, count: 'estimate' },
  })
  const total = query.data?.total
  return (
    <Card
      title="Stale assertions"
      what="the stale devices"
      query={query}
      className="c4"
      inset="none"
      aside={
        <AppLink to={devicesLink(filter)}>
          {total && total.count > 0 ? `All ${total.exact ? '' : '≈ '}${formatNumber(total.count)}` : 'In devices'}
        </AppLink>
      }
      footer={<span>Not seen for an hour or longer. A report older than an hour counts as none.</span>}
    >
      {({ items }) =>
        items.length === 0 ? (
          <p className="soft in">Every active device was seen within the hour.</p>
        ) : (
          <ul className="attn">
            {items.map((device) => (
              <li key={device.device_id}>
                <Icon name={deviceIcon(device)} className="faint" />
                <div>
                  <AppLink className="rowlink" to={`/admin/devices/${device.device_id}`}>
                    {device.name}
                  </AppLink>
                  <p>
                    reported <Timestamp at={device.posture.reported_at} empty="never" />
                  </p>
                </div>
                <MenuButton label={`Actions for ${device.name}`} items={assertionMenu(device)} />
              </li>
            ))}
          </ul>
        )
      }
    </Card>
  )
}
