import type { Handlers } from '../../http/handlers.ts'
import { pruneSets } from './trust.queries.ts'
import { createTrustRules, type TrustDeps } from './trust.ts'

export function createTrust(deps: TrustDeps) {
  const { anchors, ...rules } = createTrustRules(deps)
  return {
    ...rules,
    prunes: [pruneSets],
    handlers: {
      trustAnchors: ({ actor }) => anchors(actor.tenantId),
      gatewayTrustAnchors: ({ actor }) => anchors(actor.tenantId),
    } satisfies Partial<Handlers>,
  }
}
export type Trust = ReturnType<typeof createTrust>
