import type { Contract, Endpoint, Given, Operation, Output } from '@holdfast/contract'
import type { CredentialKind } from '@holdfast/contract/vocabulary'
import type { Actor, Caller } from '../kernel/actor.ts'
import type { Download, Representation, Streamed } from '../kernel/results.ts'
import type { ExpectedVersion } from '../kernel/version.ts'
import type { Answer } from './answer/answer.ts'
import type { GrantedHold, Hold } from './answer/representation.ts'

/** Data of a request that a handler may need besides its validated input. */
export type RequestFacts = {
  caller: Caller
  /** True if the browser reports its own page as the sender; undefined if it reports nothing. */
  isSameOrigin: boolean | undefined
  /** Value of the Origin header. */
  usedOrigin: string | undefined
  isForm: boolean
  /** Header DPoP-New-Key: a proof of a device's new key. */
  newKeyProof: unknown
  /** Header Last-Event-ID: the last event that a client of a stream has read. */
  lastEventId: string | undefined
  /** Headers of a streamed body: its length and `Repr-Digest`. */
  announced: { length: number | undefined; digest: string | undefined }
  /** Aborts when the client disconnects. Work that only its response needs then stops. */
  signal: AbortSignal
}
/** Arguments of every handler. */
export type Call = {
  actor: Actor | null
  params: unknown
  query: unknown
  body: unknown
  request: RequestFacts
  hold: GrantedHold | undefined
  expected: ExpectedVersion | undefined
}

type KindsOf<E extends Endpoint> = E['access'] extends { by: readonly (infer K extends CredentialKind)[] } ? K : never
type Calling<E extends Endpoint> = E['access'] extends { by: 'anyone' } ? { actor: null } : { actor: Actor<KindsOf<E>> }
/** For an endpoint that supports waiting: the granted wait, if it was requested. */
type Waiting<E extends Endpoint> = E extends { waits: true } ? { hold: Hold | undefined } : unknown
/** For a write that may name a version by If-Match. */
type Expecting<E extends Endpoint> = E extends { ifMatch: true | 'required' } ? { expected: ExpectedVersion } : unknown
type Result<E extends Endpoint> = E extends { download: true }
  ? Download
  : E extends { stream: object }
    ? Streamed
    : E extends { etag: true }
      ? Representation<Output<E>>
      : Output<E> | Representation<Output<E>> | Answer<Output<E>>

/** One handler for each operation of the contract, with its input and output types. */
export type Handlers = {
  [K in Operation]: (
    call: Calling<Contract[K]> &
      Given<Contract[K]> &
      Waiting<Contract[K]> &
      Expecting<Contract[K]> & { request: RequestFacts },
  ) => Result<Contract[K]> | Promise<Result<Contract[K]>>
}
