import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Feed } from '../../memory/feed.ts'
import type { Audit } from '../audit/index.ts'
import type { Fleet, FleetDevice } from '../devices/index.ts'
import type { Trust } from '../trust/index.ts'
import { createAppraisal } from './appraise.ts'
import { createBundles } from './bundles.ts'
import { createCandidates } from './candidate.ts'
import { createDelivery } from './delivery.ts'
import { createHeldReads } from './held-reads.ts'
import { createImpactOf } from './impact.ts'
import { policyHandlers } from './policy.handlers.ts'
import * as queries from './policy.queries.ts'
import { createPublishing } from './publish.ts'
import { createQuestions } from './questions.ts'
import { createReach } from './reach.ts'
import { createSigning } from './signing.ts'
import { createPolicyStore } from './store.ts'
import { createTrials } from './trials.ts'
import { createTurns } from './turns.ts'
import { createUses } from './uses.ts'

export type { Variant, VariantContent } from '@holdfast/policy'
export type { TenantPolicy } from './tenant-policy.ts'

type PolicyDeps = {
  db: Database
  audit: Audit
  changes: Changes
  feed: Feed
  pager: Pager
  fleet: Fleet
  trust: Trust
  now: () => Date
  onError: (e: unknown) => void
}

export function createPolicy(given: PolicyDeps) {
  const { fleet, now } = given
  const store = createPolicyStore(given)
  const deps = {
    ...given,
    store,
    readCandidate: createCandidates(given),
    impactOf: createImpactOf(given),
  }
  const publishing = createPublishing(deps)
  const questions = createQuestions(deps)
  const turns = createTurns(deps)
  const delivery = createDelivery({ ...deps, turns, signing: createSigning(deps) })
  const bundles = createBundles({ ...deps, reachOf: createReach(deps) })
  const trials = createTrials({ ...deps, questions })
  const reads = createHeldReads(deps)

  return {
    handlers: policyHandlers({ ...deps, bundles, publishing, questions, trials, reads, delivery }),
    /** What a device may ask without waiting, for the transport to answer at once. */
    reads: {
      '/v1/policy/digest': (device: { tenantId: TenantId; id: string }) => reads.read(device, delivery.digest),
      '/v1/policy/bundle': (device: { tenantId: TenantId; id: string }) => reads.read(device, delivery.bundle),
    },
    at: store.at,
    atVersions: store.atVersions,
    versionsAt: store.versionsAt,
    factNames: async (tenant: TenantId) => (await store.at(tenant)).factNames,
    bundleFor: (device: FleetDevice) => reads.read({ tenantId: device.tenantId, id: device.deviceId }, delivery.bundle),
    policyOf: async (tenant: TenantId, deviceId: string) => {
      const device = await fleet.device(tenant, deviceId)
      return device && (await store.at(tenant)).variantOf(device, now().getTime())
    },
    appraise: createAppraisal(store),
    ...createUses(),
    finishImpacts: publishing.finishImpacts,
    /** Logs the devices whose posture time has ended. */
    endOverdue: turns.sweep,
    prunes: [queries.pruneVariants, queries.pruneBundles],
    waiting: reads.waiting,
    /** Answers every held request. */
    stop: reads.stop,
  }
}
export type Policy = ReturnType<typeof createPolicy>
