import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { formatNumber } from '../../ui/format.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'

type Props = {
  /** True if the tenant has no devices: the list then explains how to enroll the first one. */
  isEmpty: boolean
  /** Number of devices that match the filters, if there are filters. */
  matching: { count: number; exact: boolean } | undefined
}

/** Total or matching number of devices, and the button to enroll one. */
export function DevicesHead({ isEmpty, matching }: Props) {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: can('operations:read') })
  const status = data?.devices.effective_status
  const waits = status && status.pending > 0 && `${formatNumber(status.pending)} wait for approval`
  const whole = status && [`${formatNumber(status.active)} active`, waits].filter(Boolean).join(' · ')
  const found = matching && `${matching.exact ? '' : '≈ '}${formatNumber(matching.count)} match`
  return (
    <PageHead
      title="Devices"
      sub={isEmpty || !can('operations:read') ? found : (found ?? whole ?? null)}
      actions={!isEmpty && <EnrollButton />}
    />
  )
}
