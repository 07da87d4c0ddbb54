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
      ? `Canary version ${canary.version} failed its health check (gate)`
      : `Canary version ${canary.version} was rolled back`,
  detail:
    rolledBackTo === undefined
      ? `${reason}. Its devices still have it. Roll back to the stable version, or publish a corrected canary.`
      : `${reason}. Its devices now get version ${rolledBackTo}, with the document of the stable channel.`,
  subject: { type: canary.type, id: canary.id, name: canary.name },
  dedupe_key: `policy.gate_failed:${canary.id}`,
})
