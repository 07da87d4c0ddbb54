import type { ApiError } from '../../api/api-error.ts'
import { TextField } from '../../ui/fields.tsx'

/** Input of the profile of a user. */
export type Profile = { username: string; display_name: string; email: string }
type Props = {
  value: Profile
  onChange: (value: Profile) => void
  error: ApiError | undefined
  /** Reason why the fields are off: the directory owns them. */
  offReason?: string | undefined
}

/** Username, name and e-mail address. */
export function UserFields({ value, onChange, error, offReason }: Props) {
  const errorOf = (field: string) => error?.errors?.find((e) => e.field === `user.${field}`)?.message
  const field = (name: keyof Profile) => ({
    value: value[name],
    onChange: (next: string) => onChange({ ...value, [name]: next }),
    error: errorOf(name),
    offReason,
  })
  return (
    <>
      <TextField
        label="Username"
        help="For the sign-in. Without spaces and slashes."
        maxLength={256}
        autoComplete="off"
        spellCheck={false}
        {...field('username')}
      />
      <TextField
        label="Name"
        help="As colleagues know the person."
        maxLength={256}
        optional
        {...field('display_name')}
      />
      <TextField label="E-mail" maxLength={254} inputMode="email" autoComplete="off" optional {...field('email')} />
    </>
  )
}

/** Returns the fields in the form of the API. */
export const profileOf = ({ username, display_name, email }: Profile) => ({
  username: username.trim(),
  display_name: display_name.trim(),
  email: email.trim() || null,
})
