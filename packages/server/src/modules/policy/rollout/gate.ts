import { isDeepStrictEqual } from 'node:util'
import type { PolicyTestReport } from '@holdfast/policy'
import { background, type Database, type Tx } from '../../../db/database.ts'
import type { CanaryHealth } from '../../../db/tables/policy.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Audit } from '../../audit/index.ts'
import { holdVerdicts } from '../../devices/index.ts'
import type { Notice, RaiseNotification } from '../../notifications/index.ts'
import * as policies from '../policy.queries.ts'
import type { MoveVerdicts } from '../stored-verdicts.ts'
import type { Versions } from '../versions.ts'
import type { BundleRow } from '../view.ts'
import * as queries from './gate.queries.ts'
import type { HealthOf } from './health.ts'
import { judgeRollout } from './verdict.ts'

/** Name of the job. Its own changes appear under it in the audit log. */
const job = 'judge_canaries'

/** Judges canaries by their gates, and rolls back those that fail if the gate asks for it. */
export function createGates({
  db,
  audit,
  notify,
  versions,
  healthOf,
  moveVerdicts,
}: {
  db: Database
  audit: Audit
  notify: RaiseNotification
  versions: Versions
  healthOf: HealthOf
  moveVerdicts: MoveVerdicts
}) {
  /**
   * Publishes the document of stable again. The canary is then older than stable, and its devices get stable. The
   * caller holds the lock of the versions.
   */
  async function rollBack(tx: Tx, tenant: TenantId, gate: queries.OpenGate, reason: string): Promise<BundleRow> {
    const stable = (await policies.inForce(tx, tenant)).get('stable')
    const found = stable && (await policies.bundleByVersion(tx, tenant, stable.version))
    if (!found) throw new Error(`canary version ${gate.version} has a gate, but there is no stable version`)
    return versions.put(tx, jobSource(tenant, job), await policies.takeVersion(tx, tenant), {
      channel: 'stable',
      previous: found.digest,
      digest: found.digest,
      document: found.document as object,
      resolution: found.resolution as object,
      tests: found.tests as PolicyTestReport,
      rollout: { percent: 0, groupIds: new Set(), deviceIds: new Set() },
      // Computed by the job that also finishes the impacts of interrupted publishes.
      impact: {
        rules_added: [],
        rules_removed: [],
        rules_changed: [],
        warnings: [],
        status: 'running',
        devices_examined: 0,
        devices_affected: 0,
        grants_gained: 0,
        grants_lost: 0,
      },
      note: `Rolls back canary version ${gate.version}: ${reason}`.slice(0, 1000),
      gate: null,
      overridden: false,
    })
  }

  /** Takes locks in the order of a publish. */
  const fail = (tenant: TenantId, gate: queries.OpenGate, health: CanaryHealth, reason: string) =>
    db.inTenant(
      tenant,
      async (tx) => {
        const isRolledBack = gate.terms.on_failure === 'rollback'
        if (isRolledBack) await holdVerdicts(tx, tenant)
        await queries.holdVersions(tx, tenant)
        const state = isRolledBack ? 'rolled_back' : 'failed'
        if (!(await queries.setGate(tx, tenant, gate, { state, reason, looks: gate.looks + 1, health }))) return
        const to = isRolledBack ? await rollBack(tx, tenant, gate, reason) : undefined
        const id = encodeId('policy_bundle', gate.bundle_id)
        const target = { type: 'policy_bundle', id, name: `canary ${gate.version}` }
        const verdictDetails = {
          bundle_id: id,
          version: gate.version,
          reason,
          action: gate.terms.on_failure,
          ...(to && { rolled_back_to: encodeId('policy_bundle', to.bundle_id) }),
        }
        await audit.record(tx, jobSource(tenant, job), 'policy.gate_failed', verdictDetails, { target })
        await notify(tx, tenant, failedNotice({ ...target, version: gate.version }, reason, to?.version))
      },
      background,
    )

  const goOn = (tenant: TenantId, gate: queries.OpenGate, health: CanaryHealth, to: ReturnType<typeof judgeRollout>) =>
    db.inTenant(
      tenant,
      async (tx) => {
        // A passed gate stays passed, unless it fails.
        const state = gate.state === 'passed' ? 'passed' : to.state
        const looks = gate.looks + (to.tested ? 1 : 0)
        if (!(await queries.setGate(tx, tenant, gate, { state, reason: to.reason, looks, health }))) return
        if (state === gate.state) return
        const id = encodeId('policy_bundle', gate.bundle_id)
        const rollbackDetails = { bundle_id: id, version: gate.version, reason: to.reason }
        const target = { type: 'policy_bundle', id, name: `canary ${gate.version}` }
        await audit.record(tx, jobSource(tenant, job), 'policy.gate_passed', rollbackDetails, { target })
      },
      background,
    )

  async function look(tenant: TenantId): Promise<void> {
    const gate = await db.inTenant(tenant, (tx) => queries.openGate(tx, tenant), background)
    if (!gate) return
    const health = await healthOf(tenant, gate.published_at)
    const verdict = judgeRollout(gate.terms, health, { look: gate.looks + 1, minutes: gate.minutes })
    if (verdict.state === 'failed') {
      await fail(tenant, gate, health, verdict.reason)
      return moveVerdicts(tenant)
    }
    // The same figures are no new evidence and do not count as a look, unless the gate passes by time alone.
    const passes = verdict.state === 'passed' && gate.state === 'watching'
    if (passes || !isDeepStrictEqual(health, gate.health)) await goOn(tenant, gate, health, verdict)
  }

  return {
    judge: async (): Promise<void> =>
      eachTenant(await db.acrossTenants((tx) => queries.tenantsWithGates(tx), background), look),
  }
}

/** Notice of a canary that failed its gate. `rolledBackTo`: the version that ended it. */
const failedNotice = (
  canary: { type: string; id: string; name: string; version: number },
  reason: string,
  rolledBackTo: number | undefined,
): Notice => ({
  kind: 'policy.gate_failed',
  severity: rolledBackTo === undefined ? 'critical' : 'warning',
  title:
    rolledBackTo === undefined
      ? `Canary version ${canary.version} failed its health check (gate)`
      : `Canary version ${canary.version} was rolled back`,
  detail:
    rolledBackTo === undefined
      ? `${reason}. Its devices still use it. Roll back to the stable version, or publish a corrected canary.`
      : `${reason}. Its devices now receive version ${rolledBackTo}, with the document of the stable channel.`,
  subject: { type: canary.type, id: canary.id, name: canary.name },
  dedupe_key: `policy.gate_failed:${canary.id}`,
})
