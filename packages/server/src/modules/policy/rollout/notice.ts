import type { Notice } from '../../notifications/index.ts'

/** Notice of a canary that failed its gate. `rolledBackTo`: the version that ended it. */
export const failedNotice = (
  canary: { type: string; id: string; name: string; version: number },
  reason: string,
  rolledBackTo: number | undefined,
): Notice => ({
  kind: 'policy.gate_failed',
  severity: rolledBackTo === undefined ? 'critical' : 'warning',
  title:
    rolledBackTo === undefined
      ? `Canary version ${canary.version} fails its gate`
      : `Canary version ${canary.version} was rolled back`,
  detail:
    rolledBackTo === undefined
      ? `${reason}. Its devices still have it: publish what stable delivers to take it back, or a canary that mends it.`
      : `${reason}. Version ${rolledBackTo} gives its devices what stable delivers.`,
  subject: { type: canary.type, id: canary.id, name: canary.name },
  dedupe_key: `policy.gate_failed:${canary.id}`,
})
