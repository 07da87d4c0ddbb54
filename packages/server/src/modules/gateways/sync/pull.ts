import type { Handlers } from '../../../http/handlers.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { idOf, missing } from '../../../kernel/ids.ts'
import { second } from '../../../kernel/time.ts'
import { createHeldReads, type HeldReads } from '../../devices/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import { createDeltas } from './delta.ts'
import { createDeviceDirectory, type DirectoryReads } from './directory.ts'
import { createPeers } from './peers.ts'
import { createSnapshots } from './snapshots.ts'
import { createUnifiedPolicy, type KnownState, type UnifiedPolicy } from './unified-policy.ts'
import { createPullWaiters } from './waiters.ts'

/**
 * Longest time between two looks of a held request: time windows and ends of rules change the result without a change
 * record.
 */
const longestLookMs = 60 * second

/** Endpoints that gateways and devices pull: unified policy, and the gateway directory. */
export function createPull(deps: GatewaysDeps & { registry: Registry; activity: Activity }) {
  const waiters = createPullWaiters({ changes: deps.changes, max: 20_000, gatherMs: 20 })
  const deltas = createDeltas(deps)
  const snapshots = createSnapshots({ ...deps, deltas, size: deps.snapshotSize })
  const unified = createUnifiedPolicy({ ...deps, waiters, deltas, peers: createPeers(deps), snapshots })
  const waits = createHeldReads({ ...deps, concernAll: ['policy', 'pool', 'gateway'], longestLookMs })
  deps.activity.onChange(waits.wakeAll)
  deps.feed.onBeat(() => deps.activity.look(waits.isAwaited))
  const directory = createDeviceDirectory(deps)
  return {
    handlers: pullHandlers({ ...deps, directory, waits, unified }),
    /** Returns the pools in which a device would find a gateway now. */
    poolsUp: directory.availability,
    /** Number of held requests, of gateways and of devices. */
    waiting: waiters.count,
    devicesWaiting: waits.waiting,
    /** True if a request of the tenant is held. */
    isAwaited: (tenant: TenantId): boolean => waiters.hasAny(tenant) || waits.isAwaited(tenant),
    /** Answers every held request. */
    stop: (): void => {
      waiters.stop()
      waits.stop()
    },
  }
}

/** Endpoints that gateways and devices fetch from. */
const pullHandlers = ({
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
