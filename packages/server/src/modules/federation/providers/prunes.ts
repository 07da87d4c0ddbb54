import { pruneGrants } from '../enrollment/device-grants/grants.queries.ts'
import { pruneLogoutTokens } from '../logout/logout.queries.ts'
import { pruneAssertions, pruneSamlRequests } from '../sign-in/saml-requests.queries.ts'
import { pruneRequests } from '../sign-in/sign-in.queries.ts'

/** Deletes of expired rows. */
export const prunes = [pruneRequests, pruneSamlRequests, pruneAssertions, pruneGrants, pruneLogoutTokens]
