import { pruneGrants } from './device-grants/grants.queries.ts'
import { pruneLogoutTokens } from './logout.queries.ts'
import { pruneAssertions, pruneSamlRequests } from './saml-requests.queries.ts'
import { pruneRequests } from './sign-in.queries.ts'

/** Deletes of expired rows. */
export const prunes = [pruneRequests, pruneSamlRequests, pruneAssertions, pruneGrants, pruneLogoutTokens]
