import type { PrivateJwk, PublicJwk } from '@holdfast/crypto/jwk'
import { readPrivateFile, writePrivateFile } from './private-file.ts'
import { isObject } from './signed.ts'
import type { SignedTrustSet } from './trust-store.ts'

/** Everything a device is, as JSON. It holds the private key: keep it where only the device can read it. */
export type DeviceState = {
  schema: 'holdfast.device-state/1'
  baseUrl: string
  deviceId: string
  tenantId: string
  userId: string | null
  /** Null where the caller holds the key itself (`key` of the options). */
  privateJwk: PrivateJwk | null
  credential: string
  /** RFC 3339 */
  expiresAt: string
  renewAfter: string
  trust: SignedTrustSet
  /** The policy accepted last; what comes later must not be older. Kept also when the bundle itself is gone. */
  accepted: { digest: string; seq: number } | null
  policy: {
    digest: string
    channel: string
    version: number
    bundle: string
    etag: string | null
    receivedAt: string
  } | null
  /** The gateway directory accepted last, a compact JWS; what comes later must not be older. */
  directory: { jws: string; etag: string | null; seq: number; issuedAt: string } | null
  /** The certificate in use with its key; it and the next are absent in states from before there were any. */
  certificate?: SavedCertificate | null
  /** What was asked for and not answered yet; the answer comes under the same `idempotencyKey`. */
  certificateRequest?: SavedRequest | null
}

type SavedKey = {
  publicJwk: PublicJwk
  /** PKCS#8 PEM; null where the caller holds the key. */
  privateKey: string | null
}
export type SavedCertificate = SavedKey & { spcId: string; certificate: string; chain: string[]; renewAfter: string }
export type SavedRequest = SavedKey & { csr: string; replaces: string | null; idempotencyKey: string }

/** Where a device keeps its state; `save` has to be durable when it settles. */
export type DeviceStore = { save: (state: DeviceState) => void | Promise<void> }

/** The state in one file, mode 0600, replaced atomically. */
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
    throw new TypeError(`${path} does not hold the state of a device`)
  return value as DeviceState
}
