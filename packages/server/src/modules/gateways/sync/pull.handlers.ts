import type { Handlers } from '../../../http/handlers.ts'
import { idOf, missing } from '../../../kernel/ids.ts'
import type { HeldReads } from '../../devices/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { DirectoryReads } from './directory.ts'
import type { KnownState, UnifiedPolicy } from './unified-policy.ts'

/** Endpoints that gateways and devices fetch from. */
export const pullHandlers = ({
  policy,
  directory,
  waits,
  unified,
}: Pick<GatewaysDeps, 'policy'> & {
  directory: DirectoryReads
  waits: HeldReads
  unified: UnifiedPolicy
}) =>
  ({
    gatewayPools: ({ actor: { principal }, hold }) => waits.readOrWait(principal, directory.read, hold),
    unifiedPolicy: ({ actor, query, hold }) => unified.answer(actor, readKnown(query), hold),
    unifiedPolicyChunk: ({ actor, params }) => unified.chunk(actor, params.digest),
    gatewayPolicyBundle: async ({ actor, query }) =>
      (await policy.bundleFor(actor.tenantId, idOf('device', query.device_id))) ?? missing('device'),
  }) satisfies Partial<Handlers>

const readKnown = ({ since, as_of }: { since?: number; as_of?: string }): KnownState | undefined =>
  since === undefined ? undefined : { since, asOf: as_of === undefined ? undefined : Date.parse(as_of) }
