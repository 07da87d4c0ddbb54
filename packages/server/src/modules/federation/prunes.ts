import { pruneGrants } from './device-grants/grants.queries.ts'
import { pruneLogoutTokens } from './logout.queries.ts'
import { pruneAssertions, pruneSamlRequests } from './saml-requests.queries.ts'
import { pruneRequests } from './sign-in.queries.ts'

/** What nobody asks for any more. */
export const prunes = [pruneRequests, pruneSamlRequests, pruneAssertions, pruneGrants, pruneLogoutTokens]
