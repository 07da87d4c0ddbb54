import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { formatNumber } from '../../ui/format.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { EnrollButton } from '../enrollment/enroll-button.tsx'

type Props = {
  /** The tenant has no device: the list says how the first one comes. */
  isEmpty: boolean
  /** How many pass the filters, where there are any. */
  matching: { count: number; exact: boolean } | undefined
}

/** How many there are, or how many match, and the way to one more. */
export function DevicesHead({ isEmpty, matching }: Props) {
  const can = useCan()
  const { data } = useApi('GET /v1/admin/dashboard/overview', {}, { enabled: can('operations:read') })
  const status = data?.devices.effective_status
  const waits = status && status.pending > 0 && `${formatNumber(status.pending)} wait for approval`
  const whole = status && [`${formatNumber(status.active)} active`, waits].filter(Boolean).join(' · ')
  const found = matching && `${matching.exact ? '' : '≈ '}${formatNumber(matching.count)} match`
  return (
    <PageHead title="Devices" sub={isEmpty ? undefined : (found ?? whole)} actions={!isEmpty && <EnrollButton />} />
  )
}
