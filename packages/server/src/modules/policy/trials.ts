import { diffPolicies } from '@holdfast/policy'
import type { TenantId } from '../../kernel/actor.ts'
import { type ReadCandidate, refuseDocument } from './candidate.ts'
import type { createImpactOf } from './impact.ts'
import type { Question, Questions } from './questions.ts'
import type { PolicyStore } from './store.ts'

/** What a document would do if it were published. */
export function createTrials({
  store,
  readCandidate,
  questions,
  impactOf,
}: {
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
    simulate: async (tenant: TenantId, document: unknown, asked: readonly Question[]) => {
      const candidate = await readCandidate(tenant, document)
      if ('errors' in candidate) refuseDocument(candidate.errors)
      const answers = []
      for (const q of asked)
        answers.push({ target: q.target, ...(await questions.compare(tenant, q, candidate.compiled)) })
      const policy = await store.at(tenant)
      const diff = diffPolicies(policy.versionOn('stable').compiled.resolved, candidate.resolved)
      const { impact } = await impactOf(tenant, policy, candidate.compiled)
      return { answers, impact: { ...diff, ...impact }, tests: candidate.tests }
    },
  }
}
export type Trials = ReturnType<typeof createTrials>
