import { diffPolicies } from '@holdfast/policy'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { type ReadCandidate, refuseDocument } from './candidate.ts'
import type { createImpactOf } from './impact.ts'
import { createPartyCount } from './party-count.ts'
import { type NamedParties, nameParties } from './party-names.ts'
import type { PolicyQuestion, Questions } from './questions.ts'
import type { PolicyStore } from './store.ts'

/** Dry runs of a document before it is published. */
export function createTrials({
  db,
  store,
  readCandidate,
  questions,
  impactOf,
}: {
  db: Database
  store: PolicyStore
  readCandidate: ReadCandidate
  questions: Questions
  impactOf: ReturnType<typeof createImpactOf>
}) {
  return {
    validate: async (tenant: TenantId, document: unknown) => {
      const candidate = await readCandidate(tenant, document)
      if ('errors' in candidate)
        return { valid: false, errors: candidate.errors, warnings: [], tests: null, diff: null }
      const policy = await store.at(tenant)
      const diff = diffPolicies(policy.versionOn('stable').compiled.resolved, candidate.resolved)
      const { warnings } = await impactOf(tenant, policy, candidate.compiled)
      return { valid: candidate.tests.failed === 0, errors: [], warnings, tests: candidate.tests, diff }
    },
    simulate: async (tenant: TenantId, document: unknown, asked: readonly PolicyQuestion[]) => {
      const candidate = await readCandidate(tenant, document)
      if ('errors' in candidate) refuseDocument(candidate.errors)
      const answers = []
      for (const q of asked)
        answers.push({ target: q.target, ...(await questions.compare(tenant, q, candidate.compiled)) })
      const policy = await store.at(tenant)
      const diff = diffPolicies(policy.versionOn('stable').compiled.resolved, candidate.resolved)
      const [gains, loses] = [createPartyCount(), createPartyCount()]
      const { impact } = await impactOf(tenant, policy, candidate.compiled, undefined, (device, { gained, lost }) => {
        gains.examine(device, gained > 0)
        loses.examine(device, lost > 0)
      })
      const parties = await nameParties(db, tenant, [await gains.result(), await loses.result()])
      const [gain, lose] = parties.map(viewAffected)
      return { answers, impact: { ...diff, ...impact, gains: gain!, loses: lose! }, tests: candidate.tests }
    },
  }
}
const viewAffected = ({ counts, users, groups }: NamedParties) => ({
  ...counts,
  first_users: users.map(({ rule_ids: _, ...user }) => user),
  first_groups: groups.map(({ rule_ids: _, ...group }) => group),
})
export type Trials = ReturnType<typeof createTrials>
