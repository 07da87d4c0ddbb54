import { failField } from '../../../kernel/app-error.ts'
import { canaryUnderWay, type InForce } from '../policy.queries.ts'

/**
 * What a version on stable needs of the gate of the canary that it promotes: that it has passed, or the word that it
 * need not have. Whether that word was needed. The caller holds the versions.
 */
export function isGateOverridden(
  inForce: InForce,
  { digest }: { digest: string },
  { override_gate, note }: { override_gate?: boolean; note?: string },
): boolean {
  const canary = canaryUnderWay(inForce)
  if (canary?.digest !== digest || canary.gate_state === null || canary.gate_state === 'passed') return false
  const stands = canary.gate_state === 'failed' ? 'has failed' : 'has not passed yet'
  const why = canary.gate_reason === null ? '' : `: ${canary.gate_reason}`
  if (!override_gate)
    failField(
      'override_gate',
      `the gate of canary version ${canary.version} ${stands}${why}. To promote it all the same, publish with override_gate: true and a note that says why`,
    )
  if (!note) failField('note', 'say why the gate is overridden')
  return true
}
