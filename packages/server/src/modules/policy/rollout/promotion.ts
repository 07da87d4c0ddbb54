import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { failField } from '../../../kernel/app-error.ts'
import { lastTried } from './gate.queries.ts'

/**
 * What a version on stable needs where a canary with its content had a gate and it was not on stable since: that the
 * gate has passed, or the word that it need not have, also once that canary is over. Whether that word was needed. The
 * caller holds the versions.
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
      `the gate of canary version ${tried.version} ${stands}${why}. To publish it all the same, give override_gate: true and a note that says why`,
    )
  if (!note?.trim()) failField('note', 'say why the gate is overridden')
  return true
}
