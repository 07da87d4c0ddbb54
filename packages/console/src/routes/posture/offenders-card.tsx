import { AppLink } from '../../ui/app-link.tsx'
import { Icon } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { deviceIcon, systemOf } from '../devices/words.ts'
import { Card } from '../home/card.tsx'
import { assertionMenu } from './save-assertion.ts'
import { failingOf, type Offenders } from './use-offenders.ts'
import { devicesLink } from './verdicts.ts'

/** The failing devices that were seen last, and what each fails. */
export function OffendersCard({ offenders: { query, rows } }: { offenders: Offenders }) {
  return (
    <Card
      title="Worst offenders"
      what="the failing devices"
      query={query}
      className="c8"
      inset="none"
      aside={<AppLink to={devicesLink({ posture: 'non_compliant' })}>All that fail</AppLink>}
    >
      {() =>
        rows.length === 0 ? (
          <p className="soft in">No active device fails an enforced check.</p>
        ) : (
          <div className="tw">
            <table className="t">
              <thead>
                <tr>
                  <th scope="col">Device</th>
                  <th scope="col">Fails</th>
                  <th scope="col" className="p3">
                    System
                  </th>
                  <th scope="col" className="n p2">
                    Reported
                  </th>
                  <th scope="col" className="x">
                    <span className="vh">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <OffenderRow key={row.device.device_id} row={row} />
                ))}
              </tbody>
            </table>
          </div>
        )
      }
    </Card>
  )
}

function OffenderRow({ row: { device, posture } }: { row: Offenders['rows'][number] }) {
  const failing = failingOf(posture)
  return (
    <tr>
      <td>
        <div className="row">
          <Icon name={deviceIcon(device)} className="faint" />
          <div className="first">
            <AppLink to={`/admin/devices/${device.device_id}`} className="trunc">
              {device.name}
            </AppLink>
            <small className="soft trunc">{device.user_name ?? 'no user'}</small>
          </div>
        </div>
      </td>
      <td>
        {posture === undefined ? (
          <Skeleton width="w60" />
        ) : failing.length === 0 ? (
          <span className="soft">nothing any more</span>
        ) : (
          <span className="row wrap">
            {failing.map((check) => (
              <Status key={check.check_id} kind={check.enforcement === 'enforce' ? 'bad' : 'warn'}>
                {check.check_id}
              </Status>
            ))}
          </span>
        )}
      </td>
      <td className="p3 soft">{systemOf(device)}</td>
      <td className="n p2 soft">
        <Timestamp at={device.posture.reported_at} empty="never" />
      </td>
      <td className="x">
        <div className="acts">
          <MenuButton label={`Actions for ${device.name}`} items={assertionMenu(device)} />
        </div>
      </td>
    </tr>
  )
}
