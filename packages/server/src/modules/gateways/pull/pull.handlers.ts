import type { Handlers } from '../../../http/handlers.ts'
import { idOf, missing } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { DirectoryReads } from './directory.ts'
import type { DirectoryWaits } from './directory-waits.ts'
import type { Known, UnifiedPolicy } from './unified-policy.ts'

/** What gateways and devices fetch. */
export const pullHandlers = ({
  fleet,
  policy,
  directory,
  waits,
  unified,
}: Pick<GatewaysDeps, 'fleet' | 'policy'> & {
  directory: DirectoryReads
  waits: DirectoryWaits
  unified: UnifiedPolicy
}) =>
  ({
    gatewayPools: ({ actor, hold }) => waits.readOrWait(actor, () => directory.read(actor), hold),
    unifiedPolicy: ({ actor, query, hold }) => unified.answer(actor, readKnown(query), hold),
    unifiedPolicyChunk: ({ actor, params }) => unified.chunk(actor, params.digest),
    gatewayPolicyBundle: async ({ actor, query }) =>
      policy.bundleFor((await fleet.device(actor.tenantId, idOf('device', query.device_id))) ?? missing('device')),
  }) satisfies Partial<Handlers>

const readKnown = ({ since, as_of }: { since?: number; as_of?: string }): Known | undefined =>
  since === undefined ? undefined : { since, asOf: as_of === undefined ? undefined : Date.parse(as_of) }
