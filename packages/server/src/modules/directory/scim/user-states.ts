import { differences } from '../../../kernel/differences.ts'
import { isOwnExternalId, type OwnedUser, type UserAfter, type UserEntry } from '../../identity/index.ts'
import type { Pushed } from '../counts.ts'
import { letIn, sameAs } from '../plan.ts'
import type { UserAttributes } from './user-attributes.ts'

/** Attributes set by the client, for later answers. */
export const attributesOf = (entry: UserEntry): UserAttributes => {
  const { external_id, username, email, display_name, status, directory_attributes } = entry
  const storedAttributes = (directory_attributes ?? {
    userName: username,
    ...(display_name !== '' && { displayName: display_name }),
    ...(email !== null && { emails: [{ value: email, type: 'work', primary: true }] }),
  }) as Omit<UserAttributes, 'active' | 'externalId'>
  const externalId = isOwnExternalId(external_id) ? {} : { externalId: external_id }
  return { ...storedAttributes, ...externalId, active: status === 'active' }
}
/** Version of a user: all settable attributes. */
export const versionOfUser = (entry: UserEntry) => ({ id: entry.user_id, ...attributesOf(entry) })

export const afterOf = (
  before: OwnedUser,
  active: boolean,
  facts: { username: string; email: string | null; display_name: string },
): UserAfter => ({ ...sameAs(before), ...facts, absent: false, ...letIn(before, active) })

/** State in which a new user is inserted. Later changes follow separately. */
export const newUserState = { status: 'active', suspended_by_directory: false, absent: false, roles: null } as const
/** Names of changed attributes, including removed ones. */
export const namesOfDifferences = (before: object, after: object): string[] => [
  ...new Set([...Object.keys(differences(before, after)), ...Object.keys(differences(after, before))]),
]

export function countedMoveOf(before: UserEntry | undefined, after: UserAfter): NonNullable<Pushed['users']> {
  if (!before) return { created: 1 }
  if (before.status === after.status) return { updated: 1 }
  return after.status === 'suspended' ? { suspended: 1 } : { reactivated: 1 }
}
