import type { Actor } from './actor.ts'

/** Returns the current actor; undefined if the caller is no longer authorised. */
export type Stands = () => Promise<Actor | undefined>

/** Bytes that are generated while they are sent, of unknown length. The reader's speed sets the pace. */
export class Streamed {
  /** One of the media types of the contract. */
  readonly type: string
  /** File name: letters, digits and `._+-`. Undefined: the bytes are an event stream, not a file. */
  readonly filename: string | undefined
  /**
   * Refuses before the first byte, or starts. `ended` aborts when the reader stops, at the end or before. `stands`
   * checks the caller again and returns its current state, since a credential may end during a long stream.
   */
  readonly open: (ended: AbortSignal, stands: Stands) => Promise<AsyncIterable<Uint8Array>>
  constructor(given: { type: string; filename?: string }, open: Streamed['open']) {
    this.type = given.type
    this.filename = given.filename
    this.open = open
  }
}
