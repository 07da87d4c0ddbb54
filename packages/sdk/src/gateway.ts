import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import type { Dispatcher } from 'undici'
import type { Random } from './backoff.ts'
import {
  createProofMemory,
  type DeviceAtGateway,
  type SessionProof,
  verifyDeviceAtGateway,
} from './device-at-gateway.ts'
import { createApplier } from './gateway-applier.ts'
import { createCrls, type GatewayCrls } from './gateway-crls.ts'
import { createHolder } from './gateway-holder.ts'
import { createTunnelKeys } from './gateway-keys.ts'
import { createMeter, type MeterCall, type Metered, type MeteringSample } from './gateway-metering.ts'
import { type PullingOptions, runPulling } from './gateway-pulling.ts'
import { createSessions } from './gateway-sessions.ts'
import type { GatewayChange, GatewayState } from './gateway-state.ts'
import type { GatewayStore } from './gateway-store.ts'
import { createGatewayTrust, refuseWithoutTrust } from './gateway-trust.ts'
import { followTrust } from './gateway-trust-following.ts'
import { withNewer } from './newer-fields.ts'
import { createArchive } from './policy-archive.ts'
import { safely } from './safely.ts'
import { bodyOf, createSender } from './send.ts'
import { checkSpcAtGateway, type SpcAtGateway } from './spc-at-gateway.ts'
import { readTrustSet, type SignedTrustSet } from './trust-store.ts'

export type GatewayOptions = {
  baseUrl: string
  /** The public URL of the control plane, by which it signs credentials; `baseUrl` unless said. */
  issuer?: string
  /**
   * The gateway's own service secret (`hfg_…`), or the deployment-wide one; a function is asked for it before each
   * request.
   */
  secret: string | (() => string)
  gatewayId: string
  tenantId: string
  /**
   * Keeps what must outlive the process: the trust set, the policy as it was signed, sessions, and reports that were
   * not acknowledged. With it a gateway that restarts while the control plane is away enforces its last policy until
   * its end.
   */
  store?: GatewayStore
  /** Told that the store failed: the gateway goes on, and a restart begins with less. */
  onStoreError?: (error: unknown) => void
  /**
   * A trust set pinned in an earlier run, where there is no store; without it the first one that the server gives is
   * pinned.
   */
  trust?: SignedTrustSet
  /** Told of every trust set that is pinned or follows. */
  onTrust?: (trust: SignedTrustSet) => void | Promise<void>
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}

type Ask = { signal?: AbortSignal | undefined }
type Beat = Omit<Input<Contract['heartbeat']>['body'], 'boot_id' | 'applied' | 'apply_error' | 'sent_at'>

/**
 * A gateway's link to the control plane. `state` is what has to be enforced now. Where the control plane can not be
 * reached it stays as it is until its own end; from then on nobody is a peer, unless the policy says `fail_mode: open`.
 */
export function openGateway({
  baseUrl,
  issuer = baseUrl,
  secret,
  gatewayId,
  tenantId,
  store,
  onStoreError,
  trust: pinned,
  onTrust = () => {},
  dispatcher,
  now = () => new Date(),
  random = Math.random,
}: GatewayOptions) {
  const send = createSender({ baseUrl, credential: secret, ...(dispatcher && { dispatcher }) })
  const query = { tenant_id: tenantId, gateway_id: gatewayId }
  const bootId = randomUUID()
  const proofs = createProofMemory()
  const storeFailed = safely(onStoreError)
  const crls = createCrls({ store, onStoreError: storeFailed, now })
  const trust = createGatewayTrust({ send, baseUrl, query, tenantId, pinned, crls, onTrust: keepTrust, now })
  const archive = store && createArchive({ store, tenantId, gatewayId, now })
  const holder = createHolder({ send, query, tenantId, gatewayId, trust, archive, onStoreError: storeFailed, now })
  const tunnelKeys = createTunnelKeys(() => holder.inForce, { store, onStoreError: storeFailed })
  const applier = createApplier({ state: () => holder.inForce, random })

  const metering = createMeter(send, { bootId, query, now, random, store, onStoreError: storeFailed })
  const sessions = createSessions({ meter: metering.meter, store, onStoreError: storeFailed, now })

  async function keepTrust(next: SignedTrustSet): Promise<void> {
    await store?.save('trust', JSON.stringify(next)).catch(storeFailed)
    await onTrust(next)
  }

  /** What was wrong with the trust set that was kept. */
  async function reopenTrust(): Promise<unknown> {
    try {
      const kept = await store?.load('trust')
      if (kept !== undefined) trust.reopen(readTrustSet(kept))
      return undefined
    } catch (e) {
      return e
    }
  }

  let restored: Promise<boolean> | undefined
  /** Once, however often it is asked for. */
  const restore = (): Promise<boolean> => {
    restored ??= (async () => {
      metering.resume()
      await sessions.restore().catch(storeFailed)
      await tunnelKeys.restore().catch(storeFailed)
      const broken = await reopenTrust()
      if (trust.held) await crls.restore(trust.held.document).catch(storeFailed)
      // Without trust nothing is believed; what was accepted before is still known, so that nothing older is.
      const isThere = await holder.restore().catch((e) => {
        throw broken ?? e
      })
      if (broken !== undefined) throw broken
      return isThere
    })()
    return restored
  }

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
    /** What has to be enforced now; null before the first policy. */
    get state(): GatewayState | null {
      return holder.inForce
    },
    get trust(): SignedTrustSet | null {
      return trust.held?.document ?? null
    },
    /**
     * Goes on with what the store holds, verified again: signatures, tenant, gateway, order and end. Answers whether
     * there is a policy. Rejects with `VerificationError` where it can not be believed; then the gateway begins anew
     * with its next pull. `pull` and `runPulling` do it by themselves.
     */
    restore,
    /** Asks once; see `runPulling` for a gateway that stays current. Answers what changed, null for nothing. */
    pull: async ({ wait, signal }: Ask & { wait?: number } = {}): Promise<GatewayChange | null> => {
      await restore().catch(storeFailed)
      return holder.pull({ signal, ...(wait !== undefined && { wait }) })
    },
    /** Says that what the last pull gave is enforced. `runPulling` says so by itself. */
    confirm: applier.confirm,
    /** Which key of a peer has its addresses now; null: it has none. */
    carrierOf: tunnelKeys.carrierOf,
    /**
     * Says that a handshake with this key of a peer took place. Where it is the first with a newer key, answers that
     * the addresses move to it: the agent moves the allowed IPs at that moment. Null: everything stays as it is.
     */
    noteHandshake: tunnelKeys.noteHandshake,
    refreshTrust: trust.refresh,
    /**
     * Gives up the trust set for the one that the server shows, believed for its TLS certificate alone, as the first
     * one was: for a gateway whose every trusted key was replaced in an emergency. Nothing ever calls it by itself.
     * Throws `TypeError` where the server is not reached over TLS.
     */
    repinTrustOverTls: trust.repinOverTls,
    /** Keeps the state current until aborted; see `PullingOptions`. */
    runPulling: async (options: PullingOptions): Promise<void> => {
      await restore().catch(storeFailed)
      const { onCrls } = options
      await Promise.all([
        runPulling(holder, options, { applier, now, random }),
        onCrls && followTrust(trust, { ...options, onCrls }, { now, random }),
      ])
    },
    /**
     * Says that the gateway lives, what it carries, what it enforces and what keeps it from enforcing something newer.
     */
    heartbeat: async ({ certificate_expires_at: end, ...beat }: Beat, { signal }: Ask = {}) => {
      const newer = { sent_at: now().toISOString(), ...(end !== undefined && { certificate_expires_at: end }) }
      const said = { ...beat, boot_id: bootId, ...applied() }
      return bodyOf(
        await withNewer(newer, (more) => send('heartbeat', { query, body: { ...said, ...more } }, { signal })),
      )
    },
    /**
     * Judges a device that wants to open a session, from what `device.sessionProof` made, without asking the control
     * plane. Throws `VerificationError`; see `verifyDeviceAtGateway`.
     */
    verifyDevice: ({ credential, proof }: SessionProof): DeviceAtGateway =>
      verifyDeviceAtGateway(credential, proof, {
        ...{ trust: trust.held ?? refuseWithoutTrust(), state: holder.inForce },
        ...{ tenantId, gatewayId, issuer, proofs, now: now() },
      }),
    /** The revocation lists in force; see `onCrls` of `PullingOptions`. Null: none, or one of them has ended. */
    get crls(): GatewayCrls | null {
      return crls.current
    },
    /**
     * Judges a device certificate by what the gateway holds, without asking anybody: give `runPulling` an `onCrls`, so
     * that it holds the lists. Throws `VerificationError`; see `checkSpcAtGateway`.
     */
    checkSpc: (certificate: string | Uint8Array): SpcAtGateway =>
      checkSpcAtGateway(certificate, { trust: trust.held ?? refuseWithoutTrust(), crls, tenantId, now: now() }),
    /** Asks the control plane, which also knows how the device stands (PEM). */
    validateSpc: async (certificate: string, { signal }: Ask = {}): Promise<Output<Contract['validateSpc']>> =>
      bodyOf(await send('validateSpc', { query, body: { certificate } }, { signal })),
    /** The connections that the gateway carries, and their reports: what an agent wants instead of `meter`. */
    sessions,
    /** Reports samples that the caller keeps itself. */
    meter: (samples: readonly MeteringSample[], call: Pick<MeterCall, 'load' | 'signal'> = {}): Promise<Metered> =>
      metering.meter(samples, call),
  }
}
export type Gateway = ReturnType<typeof openGateway>
