import type { Handlers } from '../../../http/serve.ts'
import { idOf, missing } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { DirectoryReads } from './directory.ts'
import type { UnifiedPolicy } from './unified-policy.ts'

/** What gateways and devices fetch. */
export const pullHandlers = ({
  fleet,
  policy,
  directory,
  unified,
}: Pick<GatewaysDeps, 'fleet' | 'policy'> & { directory: DirectoryReads; unified: UnifiedPolicy }) =>
  ({
    gatewayPools: ({ actor }) => directory.read(actor),
    unifiedPolicy: ({ actor, query, hold }) => unified.answer(actor, query.since, hold),
    gatewayPolicyBundle: async ({ actor, query }) =>
      policy.bundleFor((await fleet.device(actor.tenantId, idOf('device', query.device_id))) ?? missing('device')),
  }) satisfies Partial<Handlers>
