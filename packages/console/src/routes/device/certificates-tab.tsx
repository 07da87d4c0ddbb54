import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { CopyId } from '../../ui/copy.tsx'
import { formatWord } from '../../ui/format.ts'
import { NoPermission, Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import type { Device } from '../devices/words.ts'

const most = 50
const marks = { active: 'ok', superseded: 'half', revoked: 'off', expired: 'off' } as const

/** The newest 50 certificates (SPC) of the device. */
export function CertificatesTab({ device }: { device: Device }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/spc',
    { query: { device_id: device.device_id, sort: '-issued_at', limit: most } },
    { enabled: can('spc:read') },
  )
  if (!can('spc:read')) return <NoPermission what="certificates" permission="spc:read" />
  if (query.error) return <Problem error={query.error} retry={query.refetch} what="the certificates of this device" />
  if (!query.data) return <SkeletonRows columns={3} />
  if (query.data.items.length === 0)
    return <p className="soft">No certificate. A device asks for one when its gateway wants it.</p>
  return (
    <div className="tw">
      <table className="t inset">
        <thead>
          <tr>
            <th scope="col">Serial</th>
            <th scope="col">Status</th>
            <th scope="col" className="p3">
              Issued
            </th>
            <th scope="col">Expires</th>
          </tr>
        </thead>
        <tbody>
          {query.data.items.map((spc) => (
            <tr key={spc.spc_id} className={spc.status === 'revoked' ? 'gone' : undefined}>
              <td>
                <CopyId id={spc.serial} short={spc.serial.slice(-8)} />
              </td>
              <td>
                <Status kind={marks[spc.status]}>{formatWord(spc.status)}</Status>
              </td>
              <td className="p3 soft">
                <Timestamp at={spc.issued_at} />
              </td>
              <td className="soft">
                <Timestamp at={spc.not_after} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
