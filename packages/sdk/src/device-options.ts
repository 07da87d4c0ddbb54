import type { ProofSigner } from '@holdfast/crypto/dpop'
import type { Dispatcher } from 'undici'
import type { Random } from './backoff.ts'
import type { DeviceStore } from './device-state.ts'

export type DeviceOptions = {
  store?: DeviceStore
  /**
   * A key that the caller holds and that can not be exported, such as one in a TPM; `signSync` signs each request's
   * proof.
   */
  key?: ProofSigner
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}
export type Renewal = {
  /** Binds the credential to a new key made here. */
  rotateKey?: boolean
  /** Binds the credential to this key of the caller's own, which replaces the one before. */
  newKey?: ProofSigner
  /** The device's WireGuard key from now on (base64 of 32 bytes); the one before ends. */
  wireguardPublicKey?: string
}
