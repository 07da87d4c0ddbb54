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

const trial = (name: string, run: (t: TestContext, keycloak: Keycloak) => Promise<void>) =>
  test(`Keycloak: ${name}`, { skip, timeout: 900_000 }, (t) => run(t, keycloak!))

trial('it answers and signs as it was recorded', asRecorded)
trial('people sign in by OpenID Connect, in the groups and roles that it says', groupsAndRoles)
trial('who is disabled or removed there does not come in, nor does who has their name', disabledAndRemoved)
trial('who signs out here and confirms it there is asked for the password again', endsBothSessions)
trial('who signs out there, or is signed out by an administrator there, is out here', endsOursToo)
trial('people enroll by an ID token that is bound to the key, and by a code', byTokenAndCode)
trial('a machine without a browser enrolls once somebody has approved it', approvedAndRefused)
trial('people sign in by SAML at a client that Keycloak made of our metadata, and new keys arrive', signInBySaml)
trial('people enroll by a SAML response that answers the request of their device alone', enrollBySaml)
trial('its directory is followed: pages, who is disabled and gone, what is held, and a realm that is off', followed)
trial('a new key of the realm is found, and what an old one signed is refused', newKeys)
trial('a realm that is turned off lets nobody in, and opens no other door', realmTurnedOff)
trial('stopped, it is refused clearly and opens no other door; started again, people sign in', stoppedAndStarted)
