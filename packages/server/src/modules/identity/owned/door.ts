/** What directories, which decide about users and groups of their own, need of this module. */
export { canonicalEmail } from '../people/email.ts'
export { canonicalUsername } from '../people/username.ts'
export type { NewGroup, NewUser, Pair, UserAfter } from './apply.queries.ts'
export { type GroupEntry, isOwnExternalId, ownExternalId, shownExternalId, type UserEntry } from './entries.queries.ts'
export type { OwnedGroup, OwnedUser } from './owned.queries.ts'
export { type Owned, type OwnedChanges, recordedChanges, rolesOf } from './owned.ts'
export { type Searched, type SearchedEntry, searchedGroups, searchedUsers } from './search.queries.ts'
