import type { Database } from '../../db/database.ts'
import { findNames } from '../../db/names.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { idOf } from '../../kernel/ids.ts'
import { versioned } from '../../kernel/version.ts'
import type { Audit } from '../audit/index.ts'
import type { Bundles } from './bundles.ts'
import type { OfDevices } from './of-devices.ts'
import type { Publishing } from './publish.ts'
import type { Questions } from './questions.ts'
import type { Trials } from './trials.ts'
import { type BundleRow, namesInBundles, viewBundle, viewDecision, viewExplanation } from './view.ts'
import type { Reaching } from './who-reaches.ts'

export const policyHandlers = ({
  db,
  audit,
  bundles,
  publishing,
  questions,
  reaching,
  trials,
  reads,
}: {
  db: Database
  audit: Audit
  bundles: Bundles
  publishing: Publishing
  questions: Questions
  reaching: Reaching
  trials: Trials
  reads: OfDevices['reads']
}) => {
  const namesOf = (tenant: TenantId, shown: readonly BundleRow[]) =>
    db.inTenant(tenant, (tx) => findNames(tx, tenant, namesInBundles(shown)))
  return {
    publishPolicy: async ({ actor, body }) => {
      const { bundle, reach } = await publishing.publish(actor, body)
      return viewBundle(bundle, reach, await namesOf(actor.tenantId, [bundle]))
    },
    listPolicyBundles: async ({ actor, query }) => {
      const { items, next_cursor } = await bundles.list(actor.tenantId, query)
      const names = await namesOf(
        actor.tenantId,
        items.map((i) => i.bundle),
      )
      return { items: items.map(({ bundle, reach }) => viewBundle(bundle, reach, names)), next_cursor }
    },
    getPolicyBundle: async ({ actor, params }) => {
      const { bundle, reach } = await bundles.get(actor.tenantId, idOf('policy_bundle', params.bundle_id))
      const names = await namesOf(actor.tenantId, [bundle])
      const bundleView = { ...viewBundle(bundle, reach, names), policy: bundle.document as Record<string, unknown> }
      return versioned(bundle.bundle_id, bundleView)
    },
    validatePolicy: async ({ actor, body }) => {
      const found = await trials.validate(actor.tenantId, body.policy)
      await audit.note(actor, 'policy.validated', { valid: found.valid })
      return found
    },
    simulatePolicy: async ({ actor, body }) => {
      const { answers, impact, tests } = await trials.simulate(actor.tenantId, body.policy, body.questions ?? [])
      await audit.note(actor, 'policy.simulated', { questions: answers.length })
      const viewed = answers.map((a) => ({ ...a, before: viewDecision(a.before), after: viewDecision(a.after) }))
      return { answers: viewed, impact, tests }
    },
    explainPolicy: async ({ actor, body }) => {
      const explained = viewExplanation(await questions.explain(actor.tenantId, body))
      await audit.note(actor, 'policy.explained', { decision: explained.decision })
      return explained
    },
    whoReaches: async ({ actor, body }) => {
      const found = await reaching(actor.tenantId, body)
      await audit.note(actor, 'policy.access_listed', { devices: found.counts.devices })
      return found
    },
    policyDigest: ({ actor: { principal }, hold }) => reads['/v1/policy/digest'](principal, hold),
    policyBundle: ({ actor: { principal }, hold }) => reads['/v1/policy/bundle'](principal, hold),
  } satisfies Partial<Handlers>
}
