import type { Contract, Output } from '@holdfast/contract'
import type { Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId, missing } from '../../../kernel/ids.ts'
import { bundleById } from '../policy.queries.ts'
import type { PolicyStore } from '../store.ts'
import { viewGate } from '../view.ts'
import { type HealthOf, reportedFrom } from './health.ts'
import { compareChannels } from './verdict.ts'

/** Health of a canary version: current while it is under way, and later as its gate last saw it. */
export const createHealthView =
  ({ db, store, healthOf, now }: { db: Database; store: PolicyStore; healthOf: HealthOf; now: () => Date }) =>
  async (tenant: TenantId, bundleId: string): Promise<Output<Contract['getPolicyHealth']>> => {
    const bundle = (await db.inTenant(tenant, (tx) => bundleById(tx, tenant, bundleId))) ?? missing('policy_bundle')
    const running = (await store.at(tenant)).runningCanary?.version === bundle.version
    const until = running ? now() : (bundle.gate_judged_at ?? bundle.published_at)
    const health = running ? await healthOf(tenant, bundle.published_at) : bundle.gate_health
    return {
      bundle_id: encodeId('policy_bundle', bundle.bundle_id),
      version: bundle.version,
      running,
      since: reportedFrom(bundle.published_at, until).toISOString(),
      canary: health?.canary ?? null,
      stable: health?.stable ?? null,
      measures: health ? compareChannels(health) : [],
      gate: viewGate(bundle),
    }
  }
