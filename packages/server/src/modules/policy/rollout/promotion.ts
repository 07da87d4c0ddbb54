import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { lastTried } from './gate.queries.ts'

/**
 * Checks if a version may go on stable. If its content was last tried in a canary with a gate and not on stable since,
 * that gate must have passed, or the caller must override it. This holds even after the canary has ended. Returns true
 * if the override was needed. The caller holds the lock of the versions.
 */
export async function isGateOverridden(
  tx: Tx,
  tenant: TenantId,
  { digest }: { digest: string },
  { override_gate, note }: { override_gate?: boolean; note?: string },
): Promise<boolean> {
  const tried = await lastTried(tx, tenant, digest)
  if (!tried?.gate_state || tried.gate_state === 'passed') return false
  const stands = tried.gate_state === 'watching' ? 'has not passed' : 'has failed'
  const why = tried.gate_reason === null ? '' : `: ${tried.gate_reason}`
  if (!override_gate)
    failField(
      'override_gate',
      `the gate of canary version ${tried.version} ${stands}${why}. To publish it anyway, give override_gate: true and the reason in note`,
    )
  if (!note?.trim()) failField('note', 'is required with override_gate: give the reason for the override')
  return true
}
