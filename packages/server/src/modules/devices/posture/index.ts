import type { Purpose, Signer } from '@holdfast/crypto'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import type { Fleet } from '../fleet.ts'
import type { Appraise } from './appraisal.ts'
import { createAssertions } from './assertion.ts'
import { createExplanations } from './explanation.ts'
import { postureHandlers } from './posture.handlers.ts'
import { createReports } from './reports.ts'

export type PostureDeps = {
  db: Database
  audit: Audit
  changes: Changes
  fleet: Fleet
  trust: { signerFor: (tenant: TenantId, purpose: Purpose) => Promise<Signer> }
  appraise: Appraise
  publicUrl: string
  now: () => Date
}

export const createPostureHandlers = (deps: PostureDeps) =>
  postureHandlers({
    reports: createReports(deps),
    assertions: createAssertions(deps),
    explanations: createExplanations(deps),
  })
