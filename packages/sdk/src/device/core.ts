import { createProof, type ProofSigner } from '@holdfast/crypto/dpop'
import type { PrivateJwk } from '@holdfast/crypto/jwk'
import { ApiError, VerificationError } from '../errors.ts'
import { bodyOf, createSender, etagOf, type Send } from '../send.ts'
import {
  type DevicePolicy,
  type Judge,
  type PolicyPointer,
  verifyBundle,
  verifyPointer,
} from '../verify/policy-verifier.ts'
import { openTrust } from '../verify/trust-store.ts'
import { type SessionProof, sessionTarget } from './at-gateway.ts'
import { type CertificateRenewal, createCertificates, type DeviceCertificate } from './certificate.ts'
import { createDirectoryReader } from './directory.ts'
import { deviceKey } from './key.ts'
import type { DeviceOptions } from './options.ts'
import { createRenewal } from './renewal.ts'
import { createDeviceReports } from './reports.ts'
import type { DeviceState } from './state.ts'
import { standingOf } from './status.ts'
import { createDeviceTrust } from './trust.ts'
import { createDeviceUpdates } from './updates.ts'

type Ask = { signal?: AbortSignal | undefined }
/** `changed`: the content in force differs from the held one, so the bundle must be fetched. */
export type Polled = { changed: boolean; pollSeconds: number }

const defaultPollSeconds = 60

/**
 * Opens a device that sends requests only when called, without the loops that keep its policy and directory current.
 */
export function openDeviceCore(
  saved: DeviceState,
  {
    store,
    key: ownKey,
    newCertificateKey,
    dispatcher,
    now = () => new Date(),
    random = Math.random,
  }: DeviceOptions = {},
) {
  let state = saved
  let key = deviceKey(ownKey, saved.privateJwk)
  const { baseUrl, tenantId } = state
  const trust = openTrust(state.trust, { tenantId })
  const judge = (): Judge => ({ trust, tenantId, now: now() })

  let policy: DevicePolicy | null = null
  /** Time when the bundle in force is fetched again even without a change. */
  let refetchAt = new Date(0)
  let pointer: { digest: string; freshUntil: Date } | null = null
  let pollSeconds = defaultPollSeconds
  let standing: 'active' | 'pending' = 'active'
  restorePolicy()

  const prove = (by: ProofSigner | PrivateJwk) => (method: string, url: string, accessToken: string) =>
    createProof(by, { method, url, accessToken, now: now() })
  const send = createSender({
    baseUrl,
    credential: () => state.credential,
    prove: (method, url, credential) => prove(key)(method, url, credential),
    ...(dispatcher && { dispatcher }),
  })

  /**
   * Sends a request. If the credential was renewed meanwhile and the request refused, it is repeated with the new one.
   */
  const call: Send = async (operation, input, options) => {
    const used = state.credential
    const reply = await send(operation, input, options).catch((e) => {
      if (isUnauthorized(e) && state.credential !== used) return send(operation, input, options)
      throw e
    })
    standing = standingOf(reply)
    return reply
  }

  async function save(change: Partial<DeviceState>): Promise<void> {
    state = { ...state, ...change }
    await store?.save(state)
  }

  /** A saved bundle is verified again, since the file is not trusted. */
  function restorePolicy(): void {
    if (!state.policy) return
    const { digest, channel, version, bundle, receivedAt } = state.policy
    try {
      policy = { ...verifyBundle(bundle, digest, judge()), channel, version }
      refetchAt = halfway(new Date(receivedAt), policy.expiresAt)
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
    }
  }

  const {
    refresh: refreshTrust,
    judge: withTrust,
    repinOverTls,
  } = createDeviceTrust({ trust, call, baseUrl, save, now })

  const directory = createDirectoryReader({
    call,
    judge,
    withTrust,
    saved: state.directory,
    save: (directory) => save({ directory }),
  })

  async function noteFresh(seen: PolicyPointer): Promise<void> {
    const { digest, channel, version } = seen
    pointer = { digest, freshUntil: halfway(now(), seen.expiresAt) }
    if (policy?.digest === digest && (policy.channel !== channel || policy.version !== version))
      policy = { ...policy, channel, version }
    const { accepted } = state
    if (accepted && seen.digest === accepted.digest && seen.seq > accepted.seq)
      await save({ accepted: { digest: seen.digest, seq: seen.seq } })
  }

  /**
   * Returns the ETag for the request. None if the state must be confirmed in full, which prevents a freeze attack by
   * 304.
   */
  function knownEtag(): string | undefined {
    if (!policy || now() >= policy.expiresAt || !pointer || now() >= pointer.freshUntil) return undefined
    // The tag of a policy digest is the digest itself.
    return `"${policy.digest}"`
  }

  /**
   * Asks whether the device's policy has changed. `wait` is the number of seconds that the server may hold the response
   * (at most 300).
   */
  async function pollDigest({ wait = 0, signal }: Ask & { wait?: number } = {}): Promise<Polled> {
    const etag = knownEtag()
    const reply = await call('policyDigest', {}, { signal, wait, headers: ifNoneMatch(etag) })
    if (!reply.body) return { changed: false, pollSeconds }
    const { body } = reply
    const seen = await withTrust(() => verifyPointer(body, judge(), state.accepted ?? undefined), { signal })
    pollSeconds = body.poll_seconds
    await noteFresh(seen)
    return { changed: seen.digest !== policy?.digest || now() >= policy.expiresAt, pollSeconds }
  }

  /**
   * Fetches the device's bundle, verifies it and puts it into force. On any failure the previous one stays in force.
   * `wait` is the number of seconds that the server may hold the response without a change (at most 300).
   */
  async function fetchBundle({ wait = 0, signal }: Ask & { wait?: number } = {}): Promise<DevicePolicy> {
    const etag = policy && now() < policy.expiresAt && now() < refetchAt ? state.policy?.etag : undefined
    const reply = await call('policyBundle', {}, { signal, wait, headers: ifNoneMatch(etag ?? undefined) })
    if (!reply.body && policy) return policy
    const body = bodyOf(reply)
    const { seen, fetched } = await withTrust(
      () => {
        const seen = verifyPointer(body, judge(), state.accepted ?? undefined)
        const { channel, version } = seen
        return { seen, fetched: { ...verifyBundle(body.bundle, seen.digest, judge()), channel, version } }
      },
      { signal },
    )
    const { channel, version } = seen
    const receivedAt = now()
    refetchAt = halfway(receivedAt, fetched.expiresAt)
    if (policy && fetched.digest === policy.digest && fetched.expiresAt <= policy.expiresAt) {
      // The same content under a new tag: of another channel or version.
      if (state.policy) await save({ policy: { ...state.policy, channel, version, etag: etagOf(reply) } })
      await noteFresh(seen)
      return policy
    }
    const { digest } = seen
    policy = fetched
    await save({
      accepted: { digest: seen.digest, seq: Math.max(seen.seq, state.accepted?.seq ?? 0) },
      policy: {
        digest,
        channel,
        version,
        bundle: body.bundle,
        etag: etagOf(reply),
        receivedAt: receivedAt.toISOString(),
      },
    })
    await noteFresh(seen)
    return fetched
  }

  const renewal = createRenewal({
    send,
    baseUrl,
    prove,
    credential: () => state.credential,
    renewed: async (next, renewed) => {
      key = next?.key ?? key
      await save({ ...renewed, ...(next && { privateJwk: next.privateJwk }) })
    },
  })
  const certificates = createCertificates({
    call,
    deviceId: state.deviceId,
    tenantId,
    trust,
    refreshTrust,
    saved: state,
    save,
    now,
    random,
    newKey: newCertificateKey,
  })

  const device = {
    /** A copy of the state in its saved form. */
    get state(): DeviceState {
      return structuredClone(state)
    },
    id: state.deviceId,
    tenantId,
    /** Status in the last response: `pending` while the device waits for an administrator's approval. */
    get standing(): 'active' | 'pending' {
      return standing
    },
    /** Expiry of the credential unless it is renewed before; RFC 3339. */
    get expiresAt(): string {
      return state.expiresAt
    },
    /** The policy in force; null before the first one and after its expiry. */
    get policy(): DevicePolicy | null {
      return policy && now() < policy.expiresAt ? policy : null
    },
    get isBundleDue(): boolean {
      return !policy || now() >= refetchAt
    },
    /** True if a 304 can be trusted: the server's last confirmation of the policy in force is recent enough. */
    get isConfirmed(): boolean {
      return pointer !== null && pointer.digest === policy?.digest && now() < pointer.freshUntil && !device.isBundleDue
    },
    /** Time of the next due work other than waiting for a change. */
    get nextDue(): Date {
      const moments = [
        refetchAt,
        pointer?.freshUntil,
        new Date(state.renewAfter),
        new Date(trust.document.refresh_after),
      ]
      return new Date(Math.min(...moments.flatMap((moment) => moment?.getTime() ?? [])))
    },
    get isRenewalDue(): boolean {
      return now() >= new Date(state.renewAfter)
    },
    get isTrustDue(): boolean {
      return trust.isDue(now())
    },
    pollDigest,
    fetchBundle,
    refreshTrust,
    /**
     * Replaces the trust set by the server's present one, trusted only because of its TLS certificate, as for the first
     * one. For a device whose trusted keys were all replaced in an emergency. It is never called automatically. Throws
     * `TypeError` if the connection does not use TLS.
     */
    repinTrustOverTls: repinOverTls,
    /** Renews the credential. Calls without options share one renewal. */
    renew: renewal,
    ...createDeviceReports({ call, now }),
    /** Creates the proof for opening a session at this gateway. It can be used once, within a minute. */
    sessionProof: (gatewayId: string): SessionProof => {
      const { method, url } = sessionTarget(gatewayId)
      return { credential: state.credential, proof: prove(key)(method, url, state.credential) }
    },
    /** The verified gateway directory in force; null before the first one and after its expiry. */
    get directory() {
      return directory.current()
    },
    fetchDirectory: directory.fetch,
    ...createDeviceUpdates({ call, judge, withTrust }),
    /** The certificate in use; null before the first one and after its expiry. */
    get certificate(): DeviceCertificate | null {
      return certificates.current()
    },
    get isCertificateDue(): boolean {
      return certificates.isDue()
    },
    /**
     * Gets the first certificate, or one for another key that replaces the one in use, which stays valid for an hour.
     * Calls without a key share one request. A request with a lost response is repeated, also after a restart.
     */
    renewCertificate: (renewal?: CertificateRenewal): Promise<DeviceCertificate> => certificates.renew(renewal),
    /** Asks the server whether the certificate is valid. If not, `isCertificateDue` becomes true. */
    checkCertificate: certificates.check,
    /** Makes a new certificate due, since the present one may have been revoked. */
    doubtCertificate: certificates.doubt,
  }
  return device
}
export type DeviceCore = ReturnType<typeof openDeviceCore>

const halfway = (from: Date, to: Date): Date => new Date((from.getTime() + to.getTime()) / 2)
const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401
const ifNoneMatch = (etag: string | undefined): Record<string, string> => (etag ? { 'if-none-match': etag } : {})
