import type { PrivateJwk, PublicJwk } from '@holdfast/crypto/jwk'
import { readPrivateFile, writePrivateFile } from '../private-file.ts'
import { isObject } from '../verify/signed.ts'
import type { SignedTrustSet } from '../verify/trust-store.ts'

/** The complete state of a device, as JSON. It contains the private key, so only the device may be able to read it. */
export type DeviceState = {
  schema: 'holdfast.device-state/1'
  baseUrl: string
  deviceId: string
  tenantId: string
  userId: string | null
  /** Null if the caller holds the key itself (`key` of the options). */
  privateJwk: PrivateJwk | null
  credential: string
  /** RFC 3339 */
  expiresAt: string
  renewAfter: string
  trust: SignedTrustSet
  /** The last accepted policy; later ones must not be older. It is kept even without the bundle itself. */
  accepted: { digest: string; seq: number } | null
  policy: {
    digest: string
    channel: string
    version: number
    bundle: string
    etag: string | null
    receivedAt: string
  } | null
  /** The last accepted gateway directory, a compact JWS; later ones must not be older. */
  directory: { jws: string; etag: string | null; seq: number; issuedAt: string } | null
  /** The certificate in use with its key. This field and the next are absent in states of earlier versions. */
  certificate?: SavedCertificate | null
  /** A request without a response yet. It is repeated with the same `idempotencyKey`. */
  certificateRequest?: SavedRequest | null
}

type SavedKey = {
  publicJwk: PublicJwk
  /** PKCS#8 PEM; null if the caller holds the key. */
  privateKey: string | null
}
export type SavedCertificate = SavedKey & { spcId: string; certificate: string; chain: string[]; renewAfter: string }
export type SavedRequest = SavedKey & { csr: string; replaces: string | null; idempotencyKey: string }

/** Storage of a device's state. `save` must be durable when it settles. */
export type DeviceStore = { save: (state: DeviceState) => void | Promise<void> }

/** Stores the state in one file, mode 0600, replaced atomically. */
export function fileStore(path: string): DeviceStore & { load: () => Promise<DeviceState | undefined> } {
  let last: Promise<void> = Promise.resolve()
  return {
    save: (state) => {
      const text = `${JSON.stringify(state, null, 2)}\n`
      last = last.catch(() => undefined).then(() => writePrivateFile(path, text))
      return last
    },
    load: async () => {
      const text = await readPrivateFile(path)
      return text === undefined ? undefined : parseDeviceState(text, path)
    },
  }
}

function parseDeviceState(text: string, path: string): DeviceState {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value) || value.schema !== 'holdfast.device-state/1')
    throw new TypeError(`${path} does not contain the state of a device`)
  return value as DeviceState
}
