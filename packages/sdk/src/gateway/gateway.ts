import { randomUUID } from 'node:crypto'
import type { Contract, Input, Output } from '@holdfast/contract'
import type { Dispatcher } from 'undici'
import type { Random } from '../backoff.ts'
import {
  createProofMemory,
  type DeviceAtGateway,
  type SessionProof,
  verifyDeviceAtGateway,
} from '../device/at-gateway.ts'
import { withNewer } from '../newer-fields.ts'
import { safely } from '../safely.ts'
import { bodyOf, createSender } from '../send.ts'
import { createArchive } from '../verify/policy-archive.ts'
import { readTrustSet, type SignedTrustSet } from '../verify/trust-store.ts'
import { createApplier } from './applier.ts'
import { createCrls, type GatewayCrls } from './crls.ts'
import { createHolder } from './holder.ts'
import { createTunnelKeys } from './keys.ts'
import { createMeter, type MeterCall, type Metered, type MeteringSample } from './metering.ts'
import { type PullingOptions, runPulling } from './pulling.ts'
import { createSessions } from './sessions.ts'
import { checkSpcAtGateway, type SpcAtGateway } from './spc-at-gateway.ts'
import type { GatewayChange, GatewayState } from './state.ts'
import type { GatewayStore } from './store.ts'
import { createGatewayTrust, refuseWithoutTrust } from './trust.ts'
import { followTrust } from './trust-following.ts'

export type GatewayOptions = {
  baseUrl: string
  /** The public URL of the control plane, which issues credentials; default `baseUrl`. */
  issuer?: string
  /**
   * The gateway's own service secret (`hfg_…`), or the deployment-wide one. A function is called before each request.
   */
  secret: string | (() => string)
  gatewayId: string
  tenantId: string
  /**
   * Stores data across restarts: the trust set, the signed policy, sessions, and unacknowledged reports. With it a
   * gateway that restarts during an outage of the control plane enforces its last policy until it expires.
   */
  store?: GatewayStore
  /** Called when the store failed. The gateway continues, but a restart loses data. */
  onStoreError?: (error: unknown) => void
  /**
   * A trust set pinned in an earlier run, without a store. By default the gateway pins the first one from the server.
   */
  trust?: SignedTrustSet
  /** Called with each pinned or newer trust set. */
  onTrust?: (trust: SignedTrustSet) => void | Promise<void>
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}

type Ask = { signal?: AbortSignal | undefined }
type Beat = Omit<Input<Contract['heartbeat']>['body'], 'boot_id' | 'applied' | 'apply_error' | 'sent_at'>

/**
 * Opens a gateway's connection to the control plane. `state` is the state to enforce. During an outage of the control
 * plane it stays in force until it expires. After that no device is a peer, unless the policy has `fail_mode: open`.
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

  /** Returns the error of the saved trust set; undefined if it is valid. */
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
  /** Restores once; later calls share the result. */
  const restore = (): Promise<boolean> => {
    restored ??= (async () => {
      metering.resume()
      await sessions.restore().catch(storeFailed)
      await tunnelKeys.restore().catch(storeFailed)
      const broken = await reopenTrust()
      if (trust.held) await crls.restore(trust.held.document).catch(storeFailed)
      // Without trust no policy is accepted. The last accepted number is still known, so that no older one is.
      const isThere = await holder.restore().catch((e) => {
        throw broken ?? e
      })
      if (broken !== undefined) throw broken
      return isThere
    })()
    return restored
  }

  /** Enforcement data for heartbeats: the state that `onChange` has applied, not the received one. */
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
    /** State to enforce; null before the first policy. */
    get state(): GatewayState | null {
      return holder.inForce
    },
    get trust(): SignedTrustSet | null {
      return trust.held?.document ?? null
    },
    /**
     * Restores the stored data and verifies it again: signatures, tenant, gateway, order and end. Returns whether there
     * is a policy. Rejects with `VerificationError` if it can't be verified; then the gateway starts anew with its next
     * pull. `pull` and `runPulling` call it themselves.
     */
    restore,
    /** Sends one request; see `runPulling` to stay current. Returns the change, null if there is none. */
    pull: async ({ wait, signal }: Ask & { wait?: number } = {}): Promise<GatewayChange | null> => {
      await restore().catch(storeFailed)
      return holder.pull({ signal, ...(wait !== undefined && { wait }) })
    },
    /** Marks the result of the last pull as enforced. `runPulling` does so itself. */
    confirm: applier.confirm,
    /** Returns the key that has a peer's addresses; null if there is none. */
    carrierOf: tunnelKeys.carrierOf,
    /**
     * Reports a handshake with this key of a peer. For the first one with a newer key, returns the move of the
     * addresses to it: the agent must move the allowed IPs at once. Null: nothing changes.
     */
    noteHandshake: tunnelKeys.noteHandshake,
    refreshTrust: trust.refresh,
    /**
     * Replaces the trust set by the server's present one, trusted only because of its TLS certificate, as for the first
     * one. For a gateway whose trusted keys were all replaced in an emergency. It is never called automatically. Throws
     * `TypeError` if the connection does not use TLS.
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
    /** Reports that the gateway is alive, its load, the enforced state, and an error that prevents a newer one. */
    heartbeat: async ({ certificate_expires_at: end, ...beat }: Beat, { signal }: Ask = {}) => {
      const newer = { sent_at: now().toISOString(), ...(end !== undefined && { certificate_expires_at: end }) }
      const said = { ...beat, boot_id: bootId, ...applied() }
      return bodyOf(
        await withNewer(newer, (more) => send('heartbeat', { query, body: { ...said, ...more } }, { signal })),
      )
    },
    /**
     * Verifies a device that wants to open a session, by the result of `device.sessionProof`, offline. Throws
     * `VerificationError`; see `verifyDeviceAtGateway`.
     */
    verifyDevice: ({ credential, proof }: SessionProof): DeviceAtGateway =>
      verifyDeviceAtGateway(credential, proof, {
        trust: trust.held ?? refuseWithoutTrust(),
        state: holder.inForce,
        tenantId,
        gatewayId,
        issuer,
        proofs,
        now: now(),
      }),
    /**
     * The revocation lists in force; see `onCrls` of `PullingOptions`. Null if there are none, or one of them has
     * ended.
     */
    get crls(): GatewayCrls | null {
      return crls.current
    },
    /**
     * Verifies a device certificate offline. `runPulling` must have an `onCrls`, so that the gateway has the lists.
     * Throws `VerificationError`; see `checkSpcAtGateway`.
     */
    checkSpc: (certificate: string | Uint8Array): SpcAtGateway =>
      checkSpcAtGateway(certificate, { trust: trust.held ?? refuseWithoutTrust(), crls, tenantId, now: now() }),
    /** Verifies a certificate (PEM) at the control plane, which also knows the device's status. */
    validateSpc: async (certificate: string, { signal }: Ask = {}): Promise<Output<Contract['validateSpc']>> =>
      bodyOf(await send('validateSpc', { query, body: { certificate } }, { signal })),
    /** The connections of the gateway and their reports. Agents should use this instead of `meter`. */
    sessions,
    /** Reports samples that the caller counts itself. */
    meter: (samples: readonly MeteringSample[], call: Pick<MeterCall, 'load' | 'signal'> = {}): Promise<Metered> =>
      metering.meter(samples, call),
  }
}
export type Gateway = ReturnType<typeof openGateway>
