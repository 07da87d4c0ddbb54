import type { UserOverlay as Overlay } from '../../shell/overlay.ts'
import { EnrollFactor } from '../me/enroll-factor.tsx'
import { nameOf } from '../users/words.ts'
import { CompromisedUser } from './compromised-user.tsx'
import { ConfirmDeed } from './confirm-deed.tsx'
import { CreateUser } from './create-user.tsx'
import { EditUser } from './edit-user.tsx'
import { GrantRole } from './grant-role.tsx'
import { SetPassword } from './set-password.tsx'

type Props = { overlay: Overlay; onClose: () => void }

/** Sheet or question about users. */
export function UserOverlay({ overlay, onClose }: Props) {
  if (overlay.act === 'create') return <CreateUser onClose={onClose} />
  if (overlay.act === 'deed')
    return <ConfirmDeed {...{ deed: overlay.deed, users: overlay.users, onDone: overlay.onDone, onClose }} />
  if (overlay.act === 'enroll_factor') {
    const { user } = overlay
    return <EnrollFactor hasPassword={false} user={{ user_id: user.user_id, name: nameOf(user) }} onClose={onClose} />
  }
  if (overlay.act === 'grant_role') return <GrantRole user={overlay.user} onClose={onClose} />
  const Shown = sheets[overlay.act]
  return <Shown user={overlay.user} onClose={onClose} />
}

const sheets = {
  edit: EditUser,
  password: SetPassword,
  compromised: CompromisedUser,
}
