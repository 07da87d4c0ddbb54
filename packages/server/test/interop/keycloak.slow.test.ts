import { after, before, type TestContext, test } from 'node:test'
import { approvedAndRefused } from './keycloak/device-code.ts'
import { followed } from './keycloak/directory.ts'
import { byTokenAndCode } from './keycloak/enrollment.ts'
import { newKeys, realmTurnedOff, stoppedAndStarted } from './keycloak/outage.ts'
import { asRecorded } from './keycloak/recorded.ts'
import { signInBySaml } from './keycloak/saml.ts'
import { enrollBySaml } from './keycloak/saml-enrollment.ts'
import { type Keycloak, startKeycloak } from './keycloak/server.ts'
import { disabledAndRemoved, groupsAndRoles } from './keycloak/sign-in.ts'
import { endsBothSessions, endsOursToo } from './keycloak/sign-out.ts'
import { withoutKeycloak } from './tools.ts'

const skip = withoutKeycloak()
let keycloak: Keycloak | undefined
before(
  async () => {
    if (!skip) keycloak = await startKeycloak()
  },
  { timeout: 450_000 },
)
after(() => keycloak?.end())

const keycloakTest = (name: string, run: (t: TestContext, keycloak: Keycloak) => Promise<void>) =>
  test(`Keycloak: ${name}`, { skip, timeout: 900_000 }, (t) => run(t, keycloak!))

keycloakTest('the server answers and signs as recorded', asRecorded)
keycloakTest('users sign in by OpenID Connect, with their groups and roles', groupsAndRoles)
keycloakTest('a disabled or removed user cannot sign in, nor can a new user of that name', disabledAndRemoved)
keycloakTest('a user who signs out here and at Keycloak is asked for the password again', endsBothSessions)
keycloakTest('a logout at Keycloak, by the user or an administrator, ends the session here', endsOursToo)
keycloakTest('users enroll by an ID token bound to the key, and by a code', byTokenAndCode)
keycloakTest('a machine without a browser enrolls after its approval', approvedAndRefused)
keycloakTest('users sign in by SAML at a client imported from our metadata, and new keys are fetched', signInBySaml)
keycloakTest('users enroll by a SAML response to the request of their own device only', enrollBySaml)
keycloakTest('the directory is pulled: pages, disabled and removed users, held runs, and a disabled realm', followed)
keycloakTest('a new key of the realm is fetched, and signatures of the old one are refused', newKeys)
keycloakTest('a disabled realm admits nobody, and enables no other sign-in', realmTurnedOff)
keycloakTest(
  'a stopped server gives clear errors and enables no other sign-in; after its restart users sign in',
  stoppedAndStarted,
)
