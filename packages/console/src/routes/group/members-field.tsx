import { useOffReason } from '../../api/me.ts'
import type { ComboOption } from '../../ui/combo-box-field.tsx'
import { ManyField } from '../../ui/many-field.tsx'
import { searchUsers } from '../enrollment/pickers.tsx'

type Props = {
  value: readonly ComboOption[]
  onChange: (members: readonly ComboOption[]) => void
  error?: string | undefined
  optional?: boolean
}

/** Chooses users for a group by typing. */
export const MembersField = (props: Props) => (
  <ManyField
    {...props}
    label="Members"
    placeholder="Name, username or e-mail"
    chosen="Chosen members"
    offReason={useOffReason()('users:read')}
    search={searchUsers}
  />
)
