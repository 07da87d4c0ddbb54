import { randomUUID } from 'node:crypto'
import type { Contract, Input } from '@holdfast/contract'
import type { Dispatcher } from 'undici'
import type { Random } from './backoff.ts'
import { createApplier } from './gateway-applier.ts'
import { createHolder } from './gateway-holder.ts'
import { createMeter } from './gateway-metering.ts'
import { type PullingOptions, runPulling } from './gateway-pulling.ts'
import type { GatewayChange, GatewayState } from './gateway-state.ts'
import { createGatewayTrust } from './gateway-trust.ts'
import { bodyOf, createSender } from './send.ts'
import type { SignedTrustSet } from './trust-store.ts'

export type GatewayOptions = {
  baseUrl: string
  /** The gateway's own service secret (`hfg_…`), or the deployment-wide one; a function is asked for it before each request. */
  secret: string | (() => string)
  gatewayId: string
  tenantId: string
  /** A trust set pinned in an earlier run; without it the first one that the server gives is pinned. */
  trust?: SignedTrustSet
  /** Told of every trust set that is pinned or follows, to be kept for the next run. */
  onTrust?: (trust: SignedTrustSet) => void | Promise<void>
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}

type Ask = { signal?: AbortSignal | undefined }
type Beat = Omit<Input<Contract['heartbeat']>['body'], 'boot_id' | 'applied' | 'apply_error'>

/**
 * A gateway's link to the control plane. `state` is what has to be enforced now. Where the control plane can not be reached
 * it stays as it is until its own end; from then on nobody is a peer, unless the policy says `fail_mode: open`.
 */
export function openGateway({
  baseUrl,
  secret,
  gatewayId,
  tenantId,
  trust: pinned,
  onTrust = () => {},
  dispatcher,
  now = () => new Date(),
  random = Math.random,
}: GatewayOptions) {
  const send = createSender({ baseUrl, credential: secret, ...(dispatcher && { dispatcher }) })
  const query = { tenant_id: tenantId, gateway_id: gatewayId }
  const bootId = randomUUID()
  const trust = createGatewayTrust({ send, query, tenantId, pinned, onTrust, now })
  const holder = createHolder({ send, query, tenantId, gatewayId, trust, now })
  const applier = createApplier({ state: () => holder.inForce, random })

  /** What heartbeats say of enforcement: what `onChange` has settled for, and nothing that was only received. */
  const applied = () => {
    const { enforced } = applier
    return {
      applied: {
        ...(enforced?.seq != null && { policy_seq: enforced.seq }),
        ...(trust.held && { trust_version: trust.held.version }),
      },
      ...(enforced && { apply_error: enforced.failure }),
    }
  }

  return {
    bootId,
    get state(): GatewayState | null {
      return holder.inForce
    },
    get trust(): SignedTrustSet | null {
      return trust.held?.document ?? null
    },
    /** Asks once; see `runPulling` for a gateway that stays current. Answers what changed, null for nothing. */
    pull: ({ wait, signal }: Ask & { wait?: number } = {}): Promise<GatewayChange | null> =>
      holder.pull({ signal, ...(wait !== undefined && { wait }) }),
    /** Says that what the last pull gave is enforced. `runPulling` says so by itself. */
    confirm: applier.confirm,
    refreshTrust: trust.refresh,
    /** Keeps the state current until aborted; see `PullingOptions`. */
    runPulling: (options: PullingOptions): Promise<void> => runPulling(holder, options, { applier, now, random }),
    /** Says that the gateway lives, what it carries, what it enforces and what keeps it from enforcing something newer. */
    heartbeat: async (beat: Beat, { signal }: Ask = {}) =>
      bodyOf(await send('heartbeat', { query, body: { ...beat, boot_id: bootId, ...applied() } }, { signal })),
    meter: createMeter(send, { bootId, query, now, random }),
  }
}
export type Gateway = ReturnType<typeof openGateway>
