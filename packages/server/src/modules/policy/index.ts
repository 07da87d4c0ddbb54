import type { TenantId } from '../../kernel/actor.ts'
import { createAppraisal } from './appraise.ts'
import { createBundles } from './bundles.ts'
import { createCandidates } from './candidate.ts'
import { createDelivery } from './delivery.ts'
import type { PolicyDeps } from './deps.ts'
import { draftHandlers } from './drafts/drafts.handlers.ts'
import { pruneDrafts } from './drafts/drafts.queries.ts'
import { createDrafts } from './drafts/drafts.ts'
import { createMergeDraft } from './drafts/merge-draft.ts'
import { createImpactOf } from './impact.ts'
import { createOfDevices } from './of-devices.ts'
import { policyHandlers } from './policy.handlers.ts'
import { pruneBundles, pruneVariants } from './policy.queries.ts'
import { createPublishing } from './publish.ts'
import { createQuestions } from './questions.ts'
import { createReach } from './reach.ts'
import { createReportQueue } from './report-queue.ts'
import { createRollout } from './rollout/rollout.ts'
import { createPolicyHits } from './search-hits.ts'
import { createSigning } from './signing.ts'
import { createPolicyStore } from './store.ts'
import { createStoredVerdicts } from './stored-verdicts.ts'
import { createTrials } from './trials.ts'
import { createUses } from './uses.ts'
import { createVersions } from './versions.ts'
import { createReaching } from './who-reaches.ts'

export { firstPublishAt } from './start.queries.ts'
export type { TenantPolicy } from './tenant-policy.ts'

export function createPolicy(policyDeps: PolicyDeps) {
  const store = createPolicyStore(policyDeps)
  const deps = {
    ...policyDeps,
    store,
    moveVerdicts: createStoredVerdicts({ ...policyDeps, store }),
    versions: createVersions(policyDeps),
    readCandidate: createCandidates(policyDeps),
    impactOf: createImpactOf(policyDeps),
  }
  const publishing = createPublishing(deps)
  const questions = createQuestions(deps)
  const turns = createReportQueue(deps)
  const delivery = createDelivery({ ...deps, turns, signing: createSigning(deps) })
  const bundles = createBundles({ ...deps, reachOf: createReach(deps) })
  const [trials, reaching] = [createTrials({ ...deps, questions }), createReaching(deps)]
  const rollout = createRollout(deps)
  const drafts = createDrafts(deps)
  const ofDevices = createOfDevices({ ...deps, delivery })

  return {
    handlers: {
      ...policyHandlers({ ...deps, bundles, publishing, questions, reaching, trials, reads: ofDevices.reads }),
      ...rollout.handlers,
      ...draftHandlers({ ...deps, drafts, mergeDraft: createMergeDraft({ ...deps, drafts }) }),
    },
    at: store.at,
    atVersions: store.atVersions,
    versionsAt: store.versionsAt,
    current: bundles.current,
    deliveredTo: bundles.deliveredTo,
    published: bundles.published,
    publishedSince: bundles.publishedSince,
    checks: async (tenant: TenantId) => (await store.at(tenant)).checks,
    appraise: createAppraisal(store),
    ...ofDevices,
    ...createUses(),
    jobs: [
      { name: 'expire_posture', cron: '* * * * *', run: turns.sweep },
      ...rollout.jobs,
      { name: 'finish_policy_impacts', cron: '*/2 * * * *', run: publishing.finishImpacts },
    ],
    prunes: [pruneVariants, pruneDrafts, pruneBundles],
    searchHits: createPolicyHits(policyDeps),
  }
}
export type Policy = ReturnType<typeof createPolicy>
