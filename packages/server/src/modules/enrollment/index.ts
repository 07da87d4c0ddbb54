import type { KeyObject } from 'node:crypto'
import { contract } from '@holdfast/contract'
import type { SecuritySettings } from '@holdfast/contract/settings'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Principal, TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Memory } from '../../memory/held.ts'
import type { Audit } from '../audit/index.ts'
import type { Trust } from '../trust/index.ts'
import { createBatches } from './batch.ts'
import { createIssuer } from './credential.ts'
import { createEnroll } from './enroll.ts'
import { enrollmentHandlers } from './enrollment.handlers.ts'
import { createKeyReader } from './proven-key.ts'
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
  settings: (tenant: TenantId) => SecuritySettings | Promise<SecuritySettings>
  pepper: KeyObject
  publicUrl: string
  now: () => Date
}) {
  const tokens = createTokens(deps)
  const common = { ...deps, issue: createIssuer(deps), readKey: createKeyReader(deps) }
  const enroll = createEnroll({ ...common, join: createBatches(deps).join })
  const renew = createRenew(common)
  return {
    handlers: { ...tokenHandlers({ ...deps, tokens }), ...enrollmentHandlers({ enroll, renew }) },
    verifyEnrollmentToken: tokens.verify,
    prunes: [pruneTokens],
    /** The thumbprint of the key that a request with a token proves; null where it brings no proof. */
    provenKeyOf: ({ presented }: Principal<'enrollment_token'>): string | null =>
      common.readKey(presented, contract.enroll)?.jkt ?? null,
  }
}
