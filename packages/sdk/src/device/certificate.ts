import { randomUUID } from 'node:crypto'
import type { Contract, Output } from '@holdfast/contract'
import { type PublicJwk, publicSpki } from '@holdfast/crypto/jwk'
import { createCertificateRequest, createKeyAndRequest } from '@holdfast/crypto/x509/certificate-request-write'
import { verifyChain } from '@holdfast/crypto/x509/chain'
import { readSpc } from '@holdfast/crypto/x509/spc-read'
import type { Random } from '../backoff.ts'
import { ApiError, reject, VerificationError } from '../errors.ts'
import { createOneAtATime } from '../one-at-a-time.ts'
import { bodyOf, type Send } from '../send.ts'
import { verified } from '../verify/signed.ts'
import type { TrustStore } from '../verify/trust-store.ts'
import type { CertificateKey } from './options.ts'
import type { DeviceState, SavedCertificate, SavedRequest } from './state.ts'

type Ask = { signal?: AbortSignal | undefined }
export type CertificateRenewal = Ask & {
  /** Key of the next certificate, held by the caller. No device of the tenant may have had a certificate for it. */
  newKey?: CertificateKey
}

/** The verified certificate (SPC) of a device: issued to it, for its own key, under an anchor of its tenant. */
export type DeviceCertificate = {
  spcId: string
  /** PEM. */
  certificate: string
  /** PEM: the intermediates from the certificate to each trust anchor. TLS and IKE send them too. */
  chain: readonly string[]
  /** PKCS#8 PEM; null if the caller holds the key. */
  privateKey: string | null
  publicJwk: PublicJwk
  spiffeId: string
  expiresAt: Date
}

type Issued = Output<Contract['issueSpc']>
type CertificateOptions = {
  call: Send
  deviceId: string
  tenantId: string
  trust: TrustStore
  refreshTrust: (ask: Ask) => Promise<boolean>
  saved: Pick<DeviceState, 'certificate' | 'certificateRequest'>
  save: (change: Pick<DeviceState, 'certificate' | 'certificateRequest'>) => Promise<void>
  /** Creates the key of each certificate, if the caller holds them. */
  newKey: (() => CertificateKey | Promise<CertificateKey>) | undefined
  now: () => Date
  random: Random
}

/** Manages the newest certificate. It stays in use until another one replaces it, or it ends. */
export function createCertificates(options: CertificateOptions) {
  const { call, deviceId, tenantId, trust, refreshTrust, save, newKey: makeKey, now, random } = options
  let request = options.saved.certificateRequest ?? null
  let held = restore(options.saved.certificate ?? null)
  /** The trust set of the last verification of the certificate, and the result. */
  let judged = { by: trust.document, isTrusted: true }
  const oneAtATime = createOneAtATime<DeviceCertificate>()

  /** Throws unless it belongs to this device and this key, and leads to an anchor. */
  function verify(saved: SavedCertificate): DeviceCertificate {
    const { spcId, certificate, chain, privateKey, publicJwk } = saved
    const { anchors, intermediates } = trust.authorities(now())
    const spc = verified(() => readSpc(certificate))
    if (spc.tenantId !== tenantId) reject('wrong_tenant', 'the certificate belongs to another tenant')
    if (spc.deviceId !== deviceId || !spc.certificate.spki.equals(verified(() => publicSpki(publicJwk))))
      reject('wrong_binding', 'the certificate belongs to another device or key')
    verified(() =>
      verifyChain(certificate, { intermediates: [...new Set([...chain, ...intermediates])], anchors, at: now() }),
    )
    const [spiffeId, expiresAt] = [spc.spiffeId, spc.notAfter]
    return { spcId, certificate, chain, privateKey, publicJwk, spiffeId, expiresAt }
  }

  /**
   * The renewal is due at a random time between the earliest one and half of the remaining life, so that devices do not
   * renew at once.
   */
  function hold(saved: SavedCertificate) {
    const certificate = verify(saved)
    const from = Date.parse(saved.renewAfter)
    return { saved, certificate, dueAt: from + (random() * (certificate.expiresAt.getTime() - from)) / 2 }
  }

  /** The saved certificate is verified again, since the file is not trusted. */
  function restore(saved: SavedCertificate | null) {
    try {
      return saved && hold(saved)
    } catch (e) {
      if (e instanceof VerificationError) return null
      throw e
    }
  }

  const inUse = () => (held && now() < held.certificate.expiresAt ? held : null)

  /** True if the certificate still leads to an anchor, or the trust set is too old to decide. */
  function isTrusted(saved: SavedCertificate): boolean {
    if (judged.by === trust.document) return judged.isTrusted
    judged = { by: trust.document, isTrusted: true }
    try {
      verify(saved)
    } catch (e) {
      if (!(e instanceof VerificationError)) throw e
      judged.isTrusted = e.code === 'trust_expired'
    }
    return judged.isTrusted
  }

  /** Creates a key and its request, and saves both before sending: after a lost response the request is repeated. */
  async function prepare(newKey: CertificateKey | undefined, replaces: string | null): Promise<SavedRequest> {
    const own = newKey ?? (await makeKey?.())
    const made = own
      ? { csr: await createCertificateRequest(own, deviceId), publicJwk: own.publicJwk, privateKey: null }
      : await createKeyAndRequest(deviceId)
    request = { ...made, replaces, idempotencyKey: randomUUID() }
    await save({ certificateRequest: request })
    return request
  }

  /** A refused request is deleted. A request without a response is repeated unchanged. */
  async function send({ csr, replaces, idempotencyKey }: SavedRequest, { signal }: Ask): Promise<Issued> {
    try {
      const options = { idempotencyKey, signal }
      return bodyOf(
        replaces === null
          ? await call('issueSpc', { body: { csr } }, options)
          : await call('rotateSpc', { body: { csr, spc_id: replaces } }, options),
      )
    } catch (e) {
      if (isRefused(e)) await forgetRequest()
      throw e
    }
  }

  async function forgetRequest(): Promise<void> {
    request = null
    await save({ certificateRequest: null })
  }

  async function take(issued: Issued, { publicJwk, privateKey }: SavedRequest, ask: Ask): Promise<DeviceCertificate> {
    // The certificate's authority may be newer than the set.
    if (issued.trust_anchor_version > trust.version || trust.isDue(now())) await refreshTrust(ask)
    const { spc, certificate, chain } = issued
    const next = { spcId: spc.spc_id, certificate, chain, privateKey, publicJwk, renewAfter: spc.renew_after }
    try {
      held = hold(next)
    } catch (e) {
      // A repetition would return the same certificate.
      await forgetRequest()
      throw e
    }
    judged = { by: trust.document, isTrusted: true }
    request = null
    await save({ certificate: next, certificateRequest: null })
    return held.certificate
  }

  async function renewOnce({ newKey, signal }: CertificateRenewal): Promise<DeviceCertificate> {
    const kept = newKey ? null : request
    const asked = kept ?? (await prepare(newKey, inUse()?.saved.spcId ?? null))
    const issued = await send(asked, { signal }).catch((e) => {
      // The certificate to replace may be revoked, or a saved request too old to be repeated.
      if (isRefused(e) && (kept || asked.replaces !== null)) return undefined
      throw e
    })
    if (issued) return take(issued, asked, { signal })
    const anew = await prepare(newKey, null)
    return take(await send(anew, { signal }), anew, { signal })
  }

  return {
    /** Null before the first certificate and after its end. */
    current: (): DeviceCertificate | null => inUse()?.certificate ?? null,
    isDue: (): boolean => {
      const used = inUse()
      return !used || now().getTime() >= used.dueAt || !isTrusted(used.saved)
    },
    /** Makes a new certificate due now, since this one may have been revoked. */
    doubt: (): void => {
      if (held) held = { ...held, dueAt: 0 }
    },
    /** Asks the server whether the certificate is valid. If not, a new one is due. */
    check: async ({ signal }: Ask = {}): Promise<void> => {
      const used = inUse()
      if (!used) return
      const { certificate } = used.certificate
      const { valid } = bodyOf(await call('validateSpc', { body: { certificate } }, { signal }))
      if (!valid && held === used) held = { ...used, dueAt: 0 }
    },
    renew: ({ newKey, signal }: CertificateRenewal = {}): Promise<DeviceCertificate> =>
      oneAtATime(newKey === undefined, () => renewOnce({ signal, ...(newKey && { newKey }) })),
  }
}

/** True if this request will never succeed. */
const isRefused = (e: unknown): boolean =>
  e instanceof ApiError && e.status < 500 && ![401, 408, 409, 429].includes(e.status)
