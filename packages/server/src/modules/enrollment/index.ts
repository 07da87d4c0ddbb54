import type { KeyObject } from 'node:crypto'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Federation } from '../federation/index.ts'
import type { Trust } from '../trust/index.ts'
import { createAdmission } from './admission.ts'
import { createBatches } from './batch.ts'
import { createChallenges } from './challenge.ts'
import { createIssuer } from './credential.ts'
import { createEnroll } from './enroll.ts'
import { createEnrollByOidc } from './enroll-oidc.ts'
import { createListEnrollers } from './enrollers.ts'
import { enrollmentHandlers } from './enrollment.handlers.ts'
import { createKeyReader, provenKeyBy } from './proven-key.ts'
import { createRenew } from './renew.ts'
import { tokenHandlers } from './tokens.handlers.ts'
import { pruneTokens } from './tokens.queries.ts'
import { createTokens } from './tokens.ts'

export function createEnrollment(deps: {
  db: Database
  audit: Audit
  changes: Changes
  feed: Memory['feed']
  pager: Pager
  trust: Trust
  federation: Federation
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  pepper: KeyObject
  publicUrl: string
  onError: (e: Error) => void
  now: () => Date
}) {
  const tokens = createTokens(deps)
  const challenges = createChallenges(deps)
  const common = { ...deps, issue: createIssuer(deps), readKey: createKeyReader(deps) }
  const { join } = createBatches({ ...deps, holdProviders: deps.federation.holdEnrollers })
  const admit = createAdmission({ ...common, join })
  const byOidc = createEnrollByOidc({ ...common, admit })
  const enrolling = {
    challenges,
    enroll: createEnroll({ ...common, admit }),
    enrollByOidc: byOidc.enroll,
    listEnrollers: createListEnrollers(deps),
    renew: createRenew(common),
  }
  return {
    handlers: { ...tokenHandlers({ ...deps, tokens }), ...enrollmentHandlers(enrolling) },
    verifiers: { enrollment_token: tokens.verify, enrollment_challenge: challenges.verify },
    prunes: [pruneTokens],
    /** Writes what is still in memory; at stop. */
    stop: byOidc.flush,
    provenKeyOf: provenKeyBy(common.readKey),
  }
}
