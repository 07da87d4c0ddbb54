import { useOffReason } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import type { FacetCounts } from '../../table/spec.ts'
import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { PageHead } from '../../ui/page-head.tsx'

type Props = {
  /** True if the tenant has no users: the list then explains how to create the first one. */
  isEmpty: boolean
  counts: FacetCounts | undefined
  /** Number of users that match the filters, if there are filters. */
  matching: { count: number; exact: boolean } | undefined
}

/** Number of users by status, or of matching users, and the button to add one. */
export function UsersHead({ isEmpty, counts, matching }: Props) {
  const found = matching && `${matching.exact ? '' : '≈ '}${formatNumber(matching.count)} match`
  return <PageHead title="Users" sub={found ?? wholeOf(counts)} actions={!isEmpty && <AddUserButton />} />
}

/** @example <AddUserButton label="Add the first user" /> */
export const AddUserButton = ({ label = 'Add user' }: { label?: string }) => (
  <Button
    kind="primary"
    icon="plus"
    offReason={useOffReason()('users:write')}
    onClick={() => openOverlay({ kind: 'user', act: 'create' })}
  >
    {label}
  </Button>
)

function wholeOf(counts: FacetCounts | undefined): string | null {
  if (!counts) return null
  const of = (facet: string, value: string) => counts[facet]?.find((c) => c.value === value)?.count ?? 0
  const [suspended, locked] = [of('status', 'suspended'), of('locked', 'true')]
  return [
    `${formatNumber(of('status', 'active'))} active`,
    suspended > 0 && `${formatNumber(suspended)} suspended`,
    locked > 0 && `${formatNumber(locked)} locked`,
  ]
    .filter(Boolean)
    .join(' · ')
}
