import type { DeviceArchitecture } from '@holdfast/contract/vocabulary'
import type { ProofSigner } from '@holdfast/crypto/dpop'
import type { Signer } from '@holdfast/crypto/signer'
import type { Dispatcher } from 'undici'
import type { Random } from '../backoff.ts'
import type { DeviceStore } from './state.ts'

export type DeviceOptions = {
  store?: DeviceStore
  /** A non-exportable key of the caller, such as one in a TPM. `signSync` signs each request's proof. */
  key?: ProofSigner
  /**
   * Creates a new key for each certificate, if the caller holds the keys, for instance in a TPM. By default keys are
   * created here and saved in the state.
   */
  newCertificateKey?: () => CertificateKey | Promise<CertificateKey>
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}
/** A key of P-256, P-384 or Ed25519. `sign` returns a signature in JWS form (RFC 7518 §3.4: r‖s). */
export type CertificateKey = Pick<Signer, 'alg' | 'publicJwk' | 'sign'>
export type Renewal = {
  /** Binds the credential to a new key that is created here. */
  rotateKey?: boolean
  /** Binds the credential to this key of the caller, which replaces the previous one. */
  newKey?: ProofSigner
  /** The device's new WireGuard key (base64 of 32 bytes). It replaces the previous one. */
  wireguardPublicKey?: string
  /** The device's present version: for `checkForUpdate`, and shown to administrators. */
  clientVersion?: string
  /** Architecture of its machine. */
  arch?: DeviceArchitecture
}
