/** What other modules, and a start of the server, ask about people. */
export { type Warning, warned } from './administrators.ts'
export { wasSetBy } from './credential-setters.queries.ts'
export { unownedKey } from './credential-setters.ts'
export { firstPasswordProblem } from './first-admin.ts'
export { countSuspended, knownGroups, userExists, usernameOf } from './known.queries.ts'
export { breakGlassUsername } from './new-username.ts'
export { listOfEnded } from './recovery.ts'
export { holdStoppable, requireMayLetIn, requireNotStronger } from './standing-in.ts'
