import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { ProofSigner } from '@holdfast/crypto/dpop'
import type { Signer } from '@holdfast/crypto/signer'
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
  /**
   * Makes the key of each certificate where the caller holds them, in a TPM for instance: a new one each time. Without
   * it they are made here and kept in the state.
   */
  newCertificateKey?: () => CertificateKey | Promise<CertificateKey>
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}
/** A key of P-256, P-384 or Ed25519; `sign` answers as JWS has it (RFC 7518 §3.4: r‖s). */
export type CertificateKey = Pick<Signer, 'alg' | 'publicJwk' | 'sign'>
export type Renewal = {
  /** Binds the credential to a new key made here. */
  rotateKey?: boolean
  /** Binds the credential to this key of the caller's own, which replaces the one before. */
  newKey?: ProofSigner
  /** The device's WireGuard key from now on (base64 of 32 bytes); the one before ends. */
  wireguardPublicKey?: string
  /** The version that the device runs from now on: for `checkForUpdate`, and shown to administrators. */
  clientVersion?: string
  /** Architecture of its machine. */
  arch?: DeviceArchitecture
}
