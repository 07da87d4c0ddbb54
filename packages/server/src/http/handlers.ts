import type { Contract, Endpoint, Given, Operation, Output } from '@holdfast/contract'
import type { CredentialKind } from '@holdfast/contract/vocabulary'
import type { Actor, Caller } from '../kernel/actor.ts'
import type { Download } from '../kernel/download.ts'
import type { Representation } from '../kernel/representation.ts'
import type { Streamed } from '../kernel/streamed.ts'
import type { Expected } from '../kernel/version.ts'
import type { Answer } from './answer.ts'
import type { Granted, Hold } from './representation.ts'

/** What of a request a handler may want beside its validated input. */
export type RequestFacts = {
  caller: Caller
  /** What a browser says of the page that sent it; undefined where it says nothing. */
  isSameOrigin: boolean | undefined
  /** The origin that it says it used. */
  usedOrigin: string | undefined
  isForm: boolean
  /** Of the header DPoP-New-Key: a proof of the key that is to be a device's. */
  newKeyProof: unknown
  /** Of the header Last-Event-ID: the last event that a client of a stream has read. */
  lastEventId: string | undefined
  /** What it says of a body that is handed on as it comes: how long it is, and `Repr-Digest`. */
  announced: { length: number | undefined; digest: string | undefined }
  /** Settles when the client has gone; what only its answer would need is given up then. */
  signal: AbortSignal
}
/** What every handler is called with. */
export type Call = {
  actor: Actor | null
  params: unknown
  query: unknown
  body: unknown
  request: RequestFacts
  hold: Granted | undefined
  expected: Expected | undefined
}

type KindsOf<E extends Endpoint> = E['access'] extends { by: readonly (infer K extends CredentialKind)[] } ? K : never
type Calling<E extends Endpoint> = E['access'] extends { by: 'anyone' } ? { actor: null } : { actor: Actor<KindsOf<E>> }
/** Where the contract says that an endpoint waits: what of that wish is granted, if it was made. */
type Waiting<E extends Endpoint> = E extends { waits: true } ? { hold: Hold | undefined } : unknown
/** Where the contract says that a write may name the version it means. */
type Expecting<E extends Endpoint> = E extends { ifMatch: true } ? { expected: Expected } : unknown
type Result<E extends Endpoint> = E extends { download: true }
  ? Download
  : E extends { stream: object }
    ? Streamed
    : E extends { etag: true }
      ? Representation<Output<E>>
      : Output<E> | Representation<Output<E>> | Answer<Output<E>>

/** One for each operation of the contract, which says what it is given and what it gives. */
export type Handlers = {
  [K in Operation]: (
    call: Calling<Contract[K]> &
      Given<Contract[K]> &
      Waiting<Contract[K]> &
      Expecting<Contract[K]> & { request: RequestFacts },
  ) => Result<Contract[K]> | Promise<Result<Contract[K]>>
}
