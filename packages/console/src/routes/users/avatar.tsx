import { classes } from '../../ui/classes.ts'
import { formatInitials } from '../../ui/format.ts'
import { nameOf, type User } from './words.ts'

type Props = { user: Pick<User, 'username' | 'display_name' | 'kind'>; look?: 'lg' }

/** Initials of a user. A service account has a square. */
export const Avatar = ({ user, look }: Props) => (
  <span className={classes('avatar', look, user.kind === 'service' && 'svc')} aria-hidden="true">
    {formatInitials(nameOf(user))}
  </span>
)
