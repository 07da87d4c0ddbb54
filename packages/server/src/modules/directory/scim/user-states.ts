import { differences } from '../../../kernel/differences.ts'
import { isOwnExternalId, type OwnedUser, type UserAfter, type UserEntry } from '../../identity/index.ts'
import type { Pushed } from '../counts.ts'
import { letIn, sameAs } from '../plan.ts'
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

export const afterOf = (
  before: OwnedUser,
  active: boolean,
  facts: { username: string; email: string | null; display_name: string },
): UserAfter => ({ ...sameAs(before), ...facts, absent: false, ...letIn(before, active) })

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
