import type { PolicyTestReport } from '@holdfast/policy'
import type { Tx } from '../../db/database.ts'
import type { GateTerms } from '../../db/tables/policy.ts'
import type { Source } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { type Changes, everything } from '../../replication/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { StoredImpact } from './impact.ts'
import * as queries from './policy.queries.ts'
import type { CanaryRollout, Channel } from './tenant-policy.ts'
import type { BundleRow } from './view.ts'

/** Content of a new version. `previous`: the digest that the channel delivered before. */
type Published = {
  channel: Channel
  previous: string | null
  digest: string
  document: object
  resolution: object
  tests: PolicyTestReport
  rollout: CanaryRollout
  impact: StoredImpact
  note: string
  gate: GateTerms | null
  /** True if the version is on stable although the gate of a canary with the same content has not passed. */
  overridden: boolean
}

/** Puts versions in force, in the caller's transaction, which took the number (`takeVersion`). */
export function createVersions({ audit, changes, now }: { audit: Audit; changes: Changes; now: () => Date }) {
  return {
    put: async (tx: Tx, source: Source, version: number, published: Published): Promise<BundleRow> => {
      const { tenantId: tenant } = source
      const { channel, previous, digest, rollout, note, document, resolution } = published
      const seq = await changes.record(tx, tenant, [{ kind: 'policy', subject: everything }])
      const bundle = {
        bundle_id: newUuid(),
        version,
        seq,
        channel,
        digest,
        previous_digest: previous,
        note,
        published_by: source.id,
        published_at: now(),
        rollout_percent: rollout.percent,
        rollout_group_ids: [...rollout.groupIds],
        rollout_device_ids: [...rollout.deviceIds],
        tests: published.tests,
        impact: published.impact,
        gate_terms: published.gate,
        gate_state: published.gate && ('watching' as const),
        gate_looks: 0,
        gate_health: null,
        gate_reason: null,
        gate_judged_at: null,
      }
      await queries.insertBundle(tx, tenant, { ...bundle, document, resolution })
      const id = encodeId('policy_bundle', bundle.bundle_id)
      const details = { ...(note && { note }), ...(published.overridden && { gate_overridden: true }) }
      await audit.record(
        tx,
        source,
        'policy.published',
        { bundle_id: id, channel, version, digest },
        {
          target: { type: 'policy_bundle', id, name: `${channel} ${version}` },
          ...(previous !== digest && { changes: { digest: [previous, digest] } }),
          ...(Object.keys(details).length > 0 && { details }),
        },
      )
      return { ...bundle, tenant_id: tenant }
    },
  }
}
export type Versions = ReturnType<typeof createVersions>
