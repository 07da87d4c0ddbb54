import { evaluateChecks } from '@holdfast/policy'
import type { TenantId } from '../../kernel/actor.ts'
import type { Appraisal, FleetDevice } from '../devices/index.ts'
import type { PolicyStore } from './store.ts'
import { factsOf } from './tenant-policy.ts'

/** The checks of the policy that a device is under, on the given report. */
export const createAppraisal =
  (store: Pick<PolicyStore, 'at'>) =>
  async (
    tenant: TenantId,
    device: FleetDevice,
    posture: { facts: Record<string, unknown>; reported_at: number },
  ): Promise<Appraisal> => {
    const compiled = (await store.at(tenant)).compiledFor(device)
    const result = evaluateChecks(compiled, { ...factsOf(device), posture }, posture.reported_at)
    return {
      verdict: result.verdict,
      validUntil: result.valid_until,
      checks: result.checks
        .filter((c) => c.applies && c.enforcement !== 'audit')
        .map((c) => ({ id: c.id, passed: c.passed, remediation: c.passed ? null : c.remediation || null })),
    }
  }
