import { createProof, type ProofSigner } from '@holdfast/crypto/dpop'
import type { PrivateJwk } from '@holdfast/crypto/jwk'
import { type SessionProof, sessionTarget } from './device-at-gateway.ts'
import { type CertificateRenewal, createCertificates, type DeviceCertificate } from './device-certificate.ts'
import { createDirectoryReader } from './device-directory.ts'
import { deviceKey } from './device-key.ts'
import type { DeviceOptions } from './device-options.ts'
import { createRenewal } from './device-renewal.ts'
import { createDeviceReports } from './device-reports.ts'
import type { DeviceState } from './device-state.ts'
import { standingOf } from './device-status.ts'
import { createDeviceTrust } from './device-trust.ts'
import { createDeviceUpdates } from './device-updates.ts'
import { ApiError, VerificationError } from './errors.ts'
import { type DevicePolicy, type Judge, type PolicyPointer, verifyBundle, verifyPointer } from './policy-verifier.ts'
import { bodyOf, createSender, etagOf, type Send } from './send.ts'
import { openTrust } from './trust-store.ts'

type Ask = { signal?: AbortSignal | undefined }
/** `changed`: the content in force is another than the one held, so the bundle has to be fetched. */
export type Polled = { changed: boolean; pollSeconds: number }

const defaultPollSeconds = 60

/** A device that asks when it is told to: without the loops that keep its policy and its directory current. */
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
  /** When the bundle in force is to be asked for again though nothing says that it changed. */
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

  /** A request that was under way while the credential was renewed is sent again with the new one. */
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

  /** A bundle that was saved is verified again: the file is not a signer. */
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
    ...{ call, judge, withTrust, saved: state.directory },
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
   * The etag to ask with; none when what we know must be confirmed in full, which ends an attempt to freeze us with
   * 304.
   */
  function knownEtag(): string | undefined {
    if (!policy || now() >= policy.expiresAt || !pointer || now() >= pointer.freshUntil) return undefined
    // A digest is its own tag.
    return `"${policy.digest}"`
  }

  /** Asks whether the own policy changed; `wait` is how many seconds the server may hold the answer (at most 300). */
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
   * Fetches and verifies the own bundle and puts it into force. On any failure the one before stays in force. `wait` is
   * how many seconds the server may hold the answer while nothing changes (at most 300).
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
    ...{ send, baseUrl, prove },
    credential: () => state.credential,
    renewed: async (next, renewed) => {
      key = next?.key ?? key
      await save({ ...renewed, ...(next && { privateJwk: next.privateJwk }) })
    },
  })
  const certificates = createCertificates({
    ...{ call, deviceId: state.deviceId, tenantId, trust, refreshTrust, saved: state, save, now, random },
    newKey: newCertificateKey,
  })

  const device = {
    /** A copy of the state as it would be saved. */
    get state(): DeviceState {
      return structuredClone(state)
    },
    id: state.deviceId,
    tenantId,
    /** What the last answer said: whether the device still waits for an administrator's approval. */
    get standing(): 'active' | 'pending' {
      return standing
    },
    /** When the credential ends unless it is renewed before; RFC 3339. */
    get expiresAt(): string {
      return state.expiresAt
    },
    /** The policy in force; null before the first and after its end. */
    get policy(): DevicePolicy | null {
      return policy && now() < policy.expiresAt ? policy : null
    },
    get isBundleDue(): boolean {
      return !policy || now() >= refetchAt
    },
    /** Whether 304 may be believed: what the server said last of the policy in force is not too old. */
    get isConfirmed(): boolean {
      return pointer !== null && pointer.digest === policy?.digest && now() < pointer.freshUntil && !device.isBundleDue
    },
    /** When there is something else to do than to wait for a change. */
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
     * Gives up the trust set for the one that the server shows, believed for its TLS certificate alone, as the first
     * one was: for a device whose every trusted key was replaced in an emergency. Nothing ever calls it by itself.
     * Throws `TypeError` where the server is not reached over TLS.
     */
    repinTrustOverTls: repinOverTls,
    /** Gets a new credential; calls that ask for nothing else share one renewal. */
    renew: renewal,
    ...createDeviceReports({ call, now }),
    /** What the device shows to this gateway when it opens a session; good once, for a minute. */
    sessionProof: (gatewayId: string): SessionProof => {
      const { method, url } = sessionTarget(gatewayId)
      return { credential: state.credential, proof: prove(key)(method, url, state.credential) }
    },
    /** The verified gateway directory that was fetched last; null before the first and after its end. */
    get directory() {
      return directory.current()
    },
    fetchDirectory: directory.fetch,
    ...createDeviceUpdates({ call, judge, withTrust }),
    /** The certificate that was taken last; null before the first and after its end. */
    get certificate(): DeviceCertificate | null {
      return certificates.current()
    },
    get isCertificateDue(): boolean {
      return certificates.isDue()
    },
    /**
     * Gets the first certificate, or one for another key in place of that in use, which stays good for an hour; calls
     * that bring no key share one. An answer that was lost is asked for again, also after a restart.
     */
    renewCertificate: (renewal?: CertificateRenewal): Promise<DeviceCertificate> => certificates.renew(renewal),
    /** Asks whether the certificate counts; `isCertificateDue` where it does not. */
    checkCertificate: certificates.check,
    /** Another certificate is due: what was issued may have been revoked. */
    doubtCertificate: certificates.doubt,
  }
  return device
}
export type DeviceCore = ReturnType<typeof openDeviceCore>

const halfway = (from: Date, to: Date): Date => new Date((from.getTime() + to.getTime()) / 2)
const isUnauthorized = (error: unknown): boolean => error instanceof ApiError && error.status === 401
const ifNoneMatch = (etag: string | undefined): Record<string, string> => (etag ? { 'if-none-match': etag } : {})
