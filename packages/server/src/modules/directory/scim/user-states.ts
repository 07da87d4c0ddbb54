import { differences } from '../../../kernel/differences.ts'
import { isOwnExternalId, type OwnedUser, type UserAfter, type UserEntry } from '../../identity/index.ts'
import type { Pushed } from '../counts.ts'
import type { UserAttributes } from './user-attributes.ts'

/** What a client set, and is shown again. */
export const attributesOf = (entry: UserEntry): UserAttributes => {
  const { external_id, username, email, display_name, status, directory_attributes } = entry
  const said = (directory_attributes ?? {
    userName: username,
    ...(display_name !== '' && { displayName: display_name }),
    ...(email !== null && { emails: [{ value: email, type: 'work', primary: true }] }),
  }) as Omit<UserAttributes, 'active' | 'externalId'>
  const externalId = isOwnExternalId(external_id) ? {} : { externalId: external_id }
  return { ...said, ...externalId, active: status === 'active' }
}
/** All of a user that is set. */
export const versionOfUser = (entry: UserEntry) => ({ id: entry.user_id, ...attributesOf(entry) })

export const sameAs = ({
  user_id,
  username,
  email,
  display_name,
  status,
  suspended_by_directory,
  absent,
}: OwnedUser): UserAfter => ({
  user_id,
  username,
  email,
  display_name,
  status,
  suspended_by_directory,
  absent,
})

/** Its suspension by the directory is lifted when the directory lets it in again; an administrator's is not. */
export function afterOf(
  before: OwnedUser,
  active: boolean,
  facts: { username: string; email: string | null; display_name: string },
): UserAfter {
  const common = { ...sameAs(before), ...facts, absent: false }
  if (active) {
    const isBack = before.suspended_by_directory
    return { ...common, status: isBack ? 'active' : before.status, suspended_by_directory: false }
  }
  return before.status === 'suspended' ? common : { ...common, status: 'suspended', suspended_by_directory: true }
}

/** As it is written first: active, whatever comes after. */
export const newcomer = { status: 'active', suspended_by_directory: false, absent: false, roles: null } as const
/** What is no longer as it was, what is gone included. */
export const namesOfDifferences = (before: object, after: object): string[] => [
  ...new Set([...Object.keys(differences(before, after)), ...Object.keys(differences(after, before))]),
]

export function countOf(before: UserEntry | undefined, after: UserAfter): NonNullable<Pushed['users']> {
  if (!before) return { created: 1 }
  if (before.status === after.status) return { updated: 1 }
  return after.status === 'suspended' ? { suspended: 1 } : { reactivated: 1 }
}
