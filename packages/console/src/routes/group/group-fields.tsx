import type { ApiError } from '../../api/api-error.ts'
import { TextField } from '../../ui/fields.tsx'

/** Input of a group, without its members. */
export type GroupNames = { name: string; description: string }
type Props = { value: GroupNames; onChange: (value: GroupNames) => void; error: ApiError | undefined }

/** Name and description. */
export function GroupFields({ value, onChange, error }: Props) {
  const field = (name: keyof GroupNames) => ({
    value: value[name],
    onChange: (next: string) => onChange({ ...value, [name]: next }),
    error: error?.errors?.find((e) => e.field === `group.${name}`)?.message,
  })
  return (
    <>
      <TextField label="Name" help="Policy rules use it." maxLength={256} autoComplete="off" {...field('name')} />
      <TextField label="Description" maxLength={500} optional {...field('description')} />
    </>
  )
}

/** Returns the fields in the form of the API. */
export const groupNamesOf = ({ name, description }: GroupNames) => ({
  name: name.trim(),
  description: description.trim(),
})
