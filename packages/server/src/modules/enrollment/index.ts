import { createAdmission } from './admission.ts'
import { createRefusedAttempts } from './attempt-reasons.ts'
import { addAttempts } from './attempts.queries.ts'
import { createTokenAttempts } from './attempts.ts'
import { createBatches } from './batch.ts'
import { createChallenges } from './challenge.ts'
import { createIssuer } from './credential.ts'
import type { EnrollmentDeps } from './deps.ts'
import { createDeviceCode } from './device-code.ts'
import { createEndTokens, createTokensOfMakers } from './end-tokens.ts'
import { createEnroll } from './enroll.ts'
import { createEnrollByOidc } from './enroll-oidc.ts'
import { createEnrollBySaml } from './enroll-saml.ts'
import { deviceCodeHandlers, enrollmentHandlers } from './enrollment.handlers.ts'
import { createKeyReader, provenKeyBy } from './proven-key.ts'
import { createListEnrollers, createProviderEnrollment } from './provider-enrollment.ts'
import { createRenew } from './renew.ts'
import { createTokenHits } from './search-hits.ts'
import { tokenHandlers } from './tokens.handlers.ts'
import { pruneTokens } from './tokens.queries.ts'
import { createTokens } from './tokens.ts'

export { firstTokenAt } from './tokens.queries.ts'

export function createEnrollment(deps: EnrollmentDeps) {
  const tokens = createTokens(deps)
  const challenges = createChallenges(deps)
  const common = { ...deps, issue: createIssuer(deps), readKey: createKeyReader(deps) }
  const batches = createBatches({ ...deps, holdProviders: deps.federation.holdEnrollers })
  const admit = createAdmission({ ...common, batches })
  const providerEnrollment = createProviderEnrollment({ ...deps, admit })
  const attempts = createTokenAttempts({
    ...deps,
    write: (batch) => deps.db.acrossTenants((tx) => addAttempts(tx, batch)),
  })
  const enrolling = {
    challenges,
    enroll: createEnroll({ ...common, admit, attempts }),
    enrollByOidc: createEnrollByOidc({ ...common, providerEnrollment }),
    enrollBySaml: createEnrollBySaml({ ...common, providerEnrollment }),
    listEnrollers: createListEnrollers(deps),
    renew: createRenew(common),
  }
  return {
    handlers: {
      ...tokenHandlers({ ...deps, tokens }),
      ...enrollmentHandlers(enrolling),
      ...deviceCodeHandlers({ deviceCode: createDeviceCode({ ...common, providerEnrollment }) }),
    },
    verifiers: { enrollment_token: tokens.verify, enrollment_challenge: challenges.verify },
    endTokensOf: createEndTokens(deps),
    tokensOfMakers: createTokensOfMakers(deps),
    prunes: [pruneTokens],
    searchHits: createTokenHits(deps),
    /** Writes the counts that are still in memory. Called at shutdown. */
    stop: () => Promise.all([providerEnrollment.flush(), attempts.flush()]),
    refusedAttempts: createRefusedAttempts(attempts),
    provenKeyOf: provenKeyBy(common.readKey),
  }
}
